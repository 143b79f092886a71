import { describe, expect, it } from "@effect/vitest"
import { Owing } from "../src/delivery/Owing.ts"

const sweepMs = 250
const never = Number.POSITIVE_INFINITY

/** One whose time is in the test's hands, and for whose webhooks there is as much room as the test says. */
const ledger = (room = 64) => {
  const clock = { now: 1_000_000 }
  const rooms = new Map<number, number>()
  const roomOf = (id: number) => rooms.get(id) ?? room
  const owing = new Owing(() => clock.now)
  return {
    owing,
    rooms,
    add: (...owed: ReadonlyArray<readonly [webhook: number, count: number]>) => owing.add(new Map(owed), true),
    begin: (...owed: ReadonlyArray<readonly [webhook: number, count: number]>) => owing.add(new Map(owed), false),
    open: () => [...owing.open(roomOf)],
    waitMs: () => owing.waitMs(roomOf),
    /** Lets the time pass until there is something to look for, and gives how long that took. */
    wait: () => {
      const ms = owing.waitMs(roomOf)
      clock.now += ms
      return ms
    }
  }
}

describe("what a node knows to be owed", () => {
  it("at first is nothing, and nothing is waited for", () => {
    const { open, waitMs } = ledger()
    expect(open()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("is looked for as soon as it is announced, and not any more once all of it was found", () => {
    const { add, open, owing, waitMs } = ledger()
    add([1, 3], [2, 1])
    expect(waitMs()).toBe(0)
    expect(open()).toEqual([
      [1, 64],
      [2, 64]
    ])
    owing.found(1, 3, 30, 64)
    expect(open()).toEqual([[2, 64]])
    owing.found(2, 1, 31, 64)
    expect(open()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("and not committed yet is looked for a little later, and does not hold up what is", () => {
    const { add, begin, open, wait, waitMs } = ledger()
    begin([1, 1])
    expect(open()).toEqual([])
    expect(waitMs()).toBe(2)
    add([2, 1])
    expect(open()).toEqual([[2, 64]])
    begin([2, 1])
    expect(open()).toEqual([[2, 64]])
    wait()
    add([1, 1])
    expect(open()).toHaveLength(2)
  })

  it("that was not committed when it was looked for is looked for again, ever less often, and is given up", () => {
    const { add, open, owing, wait } = ledger()
    add([1, 2])
    const pauses: Array<number> = []
    for (;;) {
      owing.found(1, 0, 0, 64)
      expect(open()).toEqual([])
      const pause = wait()
      if (pause === never) break
      pauses.push(pause)
      expect(open()).toEqual([[1, 64]])
    }
    expect(pauses.length).toBeGreaterThanOrEqual(3)
    expect(pauses[0]).toBeLessThanOrEqual(5)
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
    // What comes later is in time for those who look at everything.
    expect(pauses.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(sweepMs)
  })

  it("and given up is looked for at once when there is more of it", () => {
    const { add, open, owing, wait } = ledger()
    add([1, 1])
    do owing.found(1, 0, 0, 64)
    while (wait() !== never)
    add([1, 1])
    expect(open()).toEqual([[1, 64]])
  })

  it("and not there yet is looked for at once when there is more of it", () => {
    const { add, open, owing } = ledger()
    add([1, 1])
    owing.found(1, 0, 0, 64)
    add([1, 1])
    expect(open()).toEqual([[1, 64]])
  })

  it("and found in part, because the rest is not committed yet, is soon looked for again", () => {
    const { add, open, owing, wait } = ledger()
    add([1, 3])
    for (let turn = 0; turn < 4; turn++) {
      owing.found(1, 0, 0, 64)
      wait()
    }
    const patient = ledger()
    patient.add([1, 1])
    patient.owing.found(1, 0, 0, 64)
    owing.found(1, 1, 10, 64)
    expect(open()).toEqual([])
    // As soon as if nothing had been looked for in vain.
    expect(wait()).toBeLessThanOrEqual(patient.wait())
    expect(open()).toEqual([[1, 64]])
    owing.found(1, 2, 12, 64)
    expect(wait()).toBe(never)
  })

  it("and comes while it is looked for is not taken for found", () => {
    const { add, open, owing, wait } = ledger()
    add([1, 2])
    expect(open()).toEqual([[1, 64]])
    add([1, 1])
    owing.found(1, 2, 20, 64)
    expect(wait()).toBeLessThan(sweepMs)
    expect(open()).toEqual([[1, 64]])
  })

  it("waits for room, and does not keep anybody awake meanwhile", () => {
    const { add, open, owing, rooms, waitMs } = ledger()
    add([1, 200], [2, 1])
    rooms.set(1, 0)
    expect(open()).toEqual([[2, 64]])
    owing.found(2, 1, 5, 64)
    expect(waitMs()).toBe(never)
    rooms.set(1, 7)
    expect(waitMs()).toBe(0)
    expect(open()).toEqual([[1, 7]])
  })

  it("is looked for at once, and without a pause, as long as there is more of it than room", () => {
    const { add, open, owing, wait, waitMs } = ledger(10)
    add([1, 25])
    owing.found(1, 10, 10, 10)
    expect(waitMs()).toBe(0)
    expect(open()).toEqual([[1, 10]])
    owing.found(1, 10, 20, 10)
    expect(waitMs()).toBe(0)
    owing.found(1, 5, 25, 10)
    expect(wait()).toBe(never)
  })

  it("is more than was announced when what was found took all the room: others may have written the rest", () => {
    const { add, open, owing, wait, waitMs } = ledger(10)
    add([1, 10])
    owing.found(1, 10, 10, 10)
    expect(waitMs()).toBe(0)
    // Found by looking at everything: nobody announced it.
    owing.found(2, 10, 20, 10)
    expect(open().map(([id]) => id)).toEqual([1, 2])
    owing.found(1, 4, 14, 10)
    owing.found(2, 4, 24, 10)
    expect(wait()).toBe(never)
  })

  it("is not what was found by the way and did not take all the room", () => {
    const { open, owing, waitMs } = ledger()
    owing.found(1, 5, 50, 64)
    expect(open()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("is not looked for among ids far below the newest that was found, each webhook's own", () => {
    const { add, owing } = ledger()
    // Nothing was found yet: the first id there can be is looked at.
    expect(owing.floorOf(1)).toBeLessThan(1)
    owing.found(1, 1, 5_000_000, 64)
    const floor = owing.floorOf(1)
    expect(floor).toBeLessThan(5_000_000)
    expect(floor).toBeGreaterThan(4_000_000)
    expect(owing.floorOf(2)).toBeLessThan(1)
    // A transaction that wrote earlier and ended later; a look in vain; a new announcement.
    owing.found(1, 1, 4_999_000, 64)
    owing.found(1, 0, 0, 64)
    add([1, 1])
    expect(owing.floorOf(1)).toBe(floor)
    expect(floor).toBeLessThan(4_999_000)
    owing.found(1, 1, 5_000_100, 64)
    expect(owing.floorOf(1)).toBe(floor + 100)
  })

  it("is forgotten with the lease under which it was looked for", () => {
    const { add, open, owing, waitMs } = ledger()
    add([1, 1])
    owing.found(2, 1, 5_000_000, 64)
    owing.clear()
    expect(open()).toEqual([])
    expect(waitMs()).toBe(never)
    expect(owing.floorOf(2)).toBeLessThan(1)
  })
})

import { describe, expect, it } from "@effect/vitest"
import { PendingDeliveries } from "../src/delivery/PendingDeliveries.ts"

const claimAllMs = 250
const never = Number.POSITIVE_INFINITY

/** {@link PendingDeliveries} with a clock and room that the test controls. */
const setUp = (room = 64) => {
  const clock = { now: 1_000_000 }
  const rooms = new Map<number, number>()
  const roomOf = (id: number) => rooms.get(id) ?? room
  const pending = new PendingDeliveries(() => clock.now)
  return {
    pending,
    rooms,
    add: (...created: ReadonlyArray<readonly [webhook: number, count: number]>) => pending.add(new Map(created), true),
    addUncommitted: (...created: ReadonlyArray<readonly [webhook: number, count: number]>) =>
      pending.add(new Map(created), false),
    due: () => [...pending.due(roomOf)],
    waitMs: () => pending.waitMs(roomOf),
    /** Advances the clock to the next due webhook, and returns by how much. */
    wait: () => {
      const ms = pending.waitMs(roomOf)
      clock.now += ms
      return ms
    }
  }
}

describe("PendingDeliveries", () => {
  it("at first nothing is due, and waitMs is infinite", () => {
    const { due, waitMs } = setUp()
    expect(due()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("a webhook is due as soon as its deliveries are added, until all were found", () => {
    const { add, due, pending, waitMs } = setUp()
    add([1, 3], [2, 1])
    expect(waitMs()).toBe(0)
    expect(due()).toEqual([
      [1, 64],
      [2, 64]
    ])
    pending.found(1, 3, 30, 64)
    expect(due()).toEqual([[2, 64]])
    pending.found(2, 1, 31, 64)
    expect(due()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("deliveries that are not committed yet are due a little later, and do not delay committed ones", () => {
    const { add, addUncommitted, due, wait, waitMs } = setUp()
    addUncommitted([1, 1])
    expect(due()).toEqual([])
    expect(waitMs()).toBe(2)
    add([2, 1])
    expect(due()).toEqual([[2, 64]])
    addUncommitted([2, 1])
    expect(due()).toEqual([[2, 64]])
    wait()
    add([1, 1])
    expect(due()).toHaveLength(2)
  })

  it("deliveries that are not found are due again after growing delays, and are given up in the end", () => {
    const { add, due, pending, wait } = setUp()
    add([1, 2])
    const delays: Array<number> = []
    for (;;) {
      pending.found(1, 0, 0, 64)
      expect(due()).toEqual([])
      const delay = wait()
      if (delay === never) break
      delays.push(delay)
      expect(due()).toEqual([[1, 64]])
    }
    expect(delays.length).toBeGreaterThanOrEqual(3)
    expect(delays[0]).toBeLessThanOrEqual(5)
    expect(delays).toEqual(delays.toSorted((a, b) => a - b))
    // The claim for all webhooks finds what is committed later.
    expect(delays.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(claimAllMs)
  })

  it("a webhook that was given up is due at once when more is added", () => {
    const { add, due, pending, wait } = setUp()
    add([1, 1])
    do pending.found(1, 0, 0, 64)
    while (wait() !== never)
    add([1, 1])
    expect(due()).toEqual([[1, 64]])
  })

  it("a webhook that waits for a delay is due at once when more is added", () => {
    const { add, due, pending } = setUp()
    add([1, 1])
    pending.found(1, 0, 0, 64)
    add([1, 1])
    expect(due()).toEqual([[1, 64]])
  })

  it("after some deliveries were found, the delay for the rest starts from the shortest", () => {
    const { add, due, pending, wait } = setUp()
    add([1, 3])
    for (let turn = 0; turn < 4; turn++) {
      pending.found(1, 0, 0, 64)
      wait()
    }
    const other = setUp()
    other.add([1, 1])
    other.pending.found(1, 0, 0, 64)
    pending.found(1, 1, 10, 64)
    expect(due()).toEqual([])
    // As soon as after a first search that found nothing.
    expect(wait()).toBeLessThanOrEqual(other.wait())
    expect(due()).toEqual([[1, 64]])
    pending.found(1, 2, 12, 64)
    expect(wait()).toBe(never)
  })

  it("deliveries that are added during a claim are not counted as found by it", () => {
    const { add, due, pending, wait } = setUp()
    add([1, 2])
    expect(due()).toEqual([[1, 64]])
    add([1, 1])
    pending.found(1, 2, 20, 64)
    expect(wait()).toBeLessThan(claimAllMs)
    expect(due()).toEqual([[1, 64]])
  })

  it("a webhook without room is not due, and waitMs ignores it", () => {
    const { add, due, pending, rooms, waitMs } = setUp()
    add([1, 200], [2, 1])
    rooms.set(1, 0)
    expect(due()).toEqual([[2, 64]])
    pending.found(2, 1, 5, 64)
    expect(waitMs()).toBe(never)
    rooms.set(1, 7)
    expect(waitMs()).toBe(0)
    expect(due()).toEqual([[1, 7]])
  })

  it("a webhook is due without delay while it has more deliveries than room", () => {
    const { add, due, pending, wait, waitMs } = setUp(10)
    add([1, 25])
    pending.found(1, 10, 10, 10)
    expect(waitMs()).toBe(0)
    expect(due()).toEqual([[1, 10]])
    pending.found(1, 10, 20, 10)
    expect(waitMs()).toBe(0)
    pending.found(1, 5, 25, 10)
    expect(wait()).toBe(never)
  })

  it("after a claim that used all room the webhook is due again: other nodes may have written more", () => {
    const { add, due, pending, wait, waitMs } = setUp(10)
    add([1, 10])
    pending.found(1, 10, 10, 10)
    expect(waitMs()).toBe(0)
    // Found by the claim for all webhooks: it was not added.
    pending.found(2, 10, 20, 10)
    expect(due().map(([id]) => id)).toEqual([1, 2])
    pending.found(1, 4, 14, 10)
    pending.found(2, 4, 24, 10)
    expect(wait()).toBe(never)
  })

  it("a webhook that was not added is not due after a claim that left room", () => {
    const { due, pending, waitMs } = setUp()
    pending.found(1, 5, 50, 64)
    expect(due()).toEqual([])
    expect(waitMs()).toBe(never)
  })

  it("lowestIdOf is a little below the newest id found, by webhook", () => {
    const { add, pending } = setUp()
    // Nothing was found yet: the lowest possible id is included.
    expect(pending.lowestIdOf(1)).toBeLessThan(1)
    pending.found(1, 1, 5_000_000, 64)
    const lowest = pending.lowestIdOf(1)
    expect(lowest).toBeLessThan(5_000_000)
    expect(lowest).toBeGreaterThan(4_000_000)
    expect(pending.lowestIdOf(2)).toBeLessThan(1)
    // A transaction that wrote earlier and committed later; a claim that found nothing; new deliveries.
    pending.found(1, 1, 4_999_000, 64)
    pending.found(1, 0, 0, 64)
    add([1, 1])
    expect(pending.lowestIdOf(1)).toBe(lowest)
    expect(lowest).toBeLessThan(4_999_000)
    pending.found(1, 1, 5_000_100, 64)
    expect(pending.lowestIdOf(1)).toBe(lowest + 100)
  })

  it("clear forgets pending deliveries and newest ids", () => {
    const { add, due, pending, waitMs } = setUp()
    add([1, 1])
    pending.found(2, 1, 5_000_000, 64)
    pending.clear()
    expect(due()).toEqual([])
    expect(waitMs()).toBe(never)
    expect(pending.lowestIdOf(2)).toBeLessThan(1)
  })

  it("searches for deliveries of an open transaction after 2 ms, and again after 3, 5 and 10 ms", () => {
    const { addUncommitted, pending, wait } = setUp()
    addUncommitted([1, 1])
    const waits = [wait()]
    for (let i = 0; i < 3; i++) {
      pending.found(1, 0, 0, 64)
      waits.push(wait())
    }
    expect(waits).toEqual([2, 3, 5, 10])
  })

  it("waitMs is that of the first webhook to become due, in any order", () => {
    const { add, addUncommitted, waitMs } = setUp()
    add([1, 1])
    addUncommitted([2, 1])
    expect(waitMs()).toBe(0)
    const other = setUp()
    other.addUncommitted([1, 1])
    other.add([2, 1])
    expect(other.waitMs()).toBe(0)
  })

  it("a webhook with room for one delivery is due", () => {
    const { add, due, waitMs } = setUp(1)
    add([1, 1])
    expect([due(), waitMs()]).toEqual([[[1, 1]], 0])
  })

  it("lowestIdOf is 10000 below the newest id found, or below 0", () => {
    const { pending } = setUp()
    expect(pending.lowestIdOf(1)).toBe(-10_000)
    pending.found(1, 1, 1, 64)
    expect(pending.lowestIdOf(1)).toBe(-9_999)
    pending.found(1, 1, 50_000, 64)
    pending.found(1, 1, 40_000, 64)
    expect(pending.lowestIdOf(1)).toBe(40_000)
  })

  it("a webhook that was not announced and has none is not searched again", () => {
    const { pending, waitMs } = setUp()
    pending.found(5, 0, 0, 64)
    expect(waitMs()).toBe(never)
  })
})

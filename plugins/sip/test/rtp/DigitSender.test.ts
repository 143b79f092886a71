import { describe, expect, it } from "vitest"
import { DigitSender } from "../../src/rtp/DigitSender.ts"

interface Sent {
  readonly at: number
  readonly event: number
  readonly duration: number
  readonly isFirst: boolean
  readonly isEnd: boolean
}

/** Sends digits, with ticks every 20 ms until nothing is left. */
const send = (digits: string, ticks: (now: number) => number = (now) => now + 20) => {
  const sent: Array<Sent> = []
  let now = 1000
  const sender = new DigitSender((event, duration, isFirst, isEnd) =>
    sent.push({ at: now - 1000, event, duration, isFirst, isEnd })
  )
  sender.push(digits, now)
  while (sender.isActive) {
    now = ticks(now)
    sender.tick(now)
  }
  return sent
}

const firsts = (sent: ReadonlyArray<Sent>) => sent.filter(({ isFirst }) => isFirst).map(({ at, event }) => [event, at])

describe("sending digits", () => {
  it("sends a packet each 20 ms for 100 ms, and the end three times", () => {
    expect(send("5").map(({ at, duration, isEnd, isFirst }) => [at, duration, isFirst, isEnd])).toEqual([
      [0, 20, true, false],
      [20, 40, false, false],
      [40, 60, false, false],
      [60, 80, false, false],
      [80, 100, false, true],
      [100, 100, false, true],
      [120, 100, false, true]
    ])
  })

  it("sends all digits in order, 200 ms apart", () => {
    expect(firsts(send("0#*D"))).toEqual([
      [0, 0],
      [11, 200],
      [10, 400],
      [15, 600]
    ])
  })

  it("waits half a second for each w, and leaves out what is no digit", () => {
    expect(firsts(send("1wWx-2 "))).toEqual([
      [1, 0],
      [2, 1200]
    ])
    expect(firsts(send("w3"))).toEqual([[3, 500]])
  })

  it("sends no burst after a stall: one packet per tick, and each digit with its three ends", () => {
    const sent = send("12", (now) => now + (now === 1040 ? 700 : 20))
    const times = sent.map(({ at }) => at)
    expect(new Set(times).size).toBe(times.length)
    expect(sent.filter(({ isEnd }) => isEnd).map(({ event }) => event)).toEqual([1, 1, 1, 2, 2, 2])
  })

  it("ends the digit that is being sent when the others are dropped", () => {
    const sent: Array<boolean> = []
    const sender = new DigitSender((_event, _duration, _isFirst, isEnd) => sent.push(isEnd))
    sender.push("123", 0)
    sender.clear()
    for (let now = 20; sender.isActive; now += 20) sender.tick(now)
    expect(sent.filter((isEnd) => isEnd)).toHaveLength(3)
    expect(sent).toHaveLength(7)
  })

  it("keeps a bounded number of digits", () => {
    const sender = new DigitSender(() => {})
    for (let index = 0; index < 1000; index++) sender.push("1".repeat(32), 0)
    let ticks = 0
    for (let now = 20; sender.isActive; now += 20) {
      sender.tick(now)
      ticks++
    }
    expect(ticks).toBeLessThan(257 * 10)
  })
})

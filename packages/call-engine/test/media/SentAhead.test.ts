import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SentAhead } from "../../src/media/SentAhead.ts"

const frameBytes = 4

/** Frames that are numbered from 1 on, written as text-to-speech has them and played one after each other. */
class NumberedFrames {
  readonly messages: Array<ReadonlyArray<number>> = []
  readonly played: Array<number | undefined> = []
  readonly ahead: SentAhead
  written = 0

  constructor(aheadMs: number) {
    this.ahead = new SentAhead(frameBytes, aheadMs)
  }

  /** 20 ms, at whose beginning so many frames can be sent. */
  tick(available: number): void {
    if (this.ahead.begin()) {
      for (let room = this.ahead.room; room !== undefined && available > 0; room = this.ahead.room) {
        room.fill(++this.written)
        this.ahead.add()
        available--
      }
      const message = this.ahead.take()
      if (message !== undefined) this.messages.push([...message].filter((_, n) => n % frameBytes === 0))
    }
    this.played.push(this.ahead.next()?.[0])
  }
}

describe("SentAhead", () => {
  it("gives a leg without aheadMs each frame at its time", () => {
    const frames = new NumberedFrames(0)
    for (let n = 0; n < 4; n++) frames.tick(10)
    expect(frames.messages).toEqual([[1], [2], [3], [4]])
    expect(frames.played).toEqual([1, 2, 3, 4])
    expect(frames.ahead.count).toBe(0)
  })

  it("gives a leg with aheadMs that much audio at once, then half of it each time that half of it was played", () => {
    const frames = new NumberedFrames(120)
    for (let n = 0; n < 10; n++) frames.tick(20)
    expect(frames.messages).toEqual([
      [1, 2, 3, 4, 5, 6],
      [7, 8, 9],
      [10, 11, 12],
      [13, 14, 15]
    ])
    expect(frames.played).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  it("sends frames as they come when text-to-speech is no faster than the pace", () => {
    const frames = new NumberedFrames(120)
    for (let n = 0; n < 4; n++) frames.tick(1)
    expect(frames.messages).toEqual([[1], [2], [3], [4]])
    expect(frames.played).toEqual([1, 2, 3, 4])
  })

  it("plays what was sent when nothing follows", () => {
    const frames = new NumberedFrames(100)
    for (const available of [3, 0, 0, 0]) frames.tick(available)
    expect(frames.messages).toEqual([[1, 2, 3]])
    expect(frames.played).toEqual([1, 2, 3, undefined])
  })

  it("plays nothing after clear of what was sent before", () => {
    const frames = new NumberedFrames(120)
    frames.tick(6)
    frames.ahead.clear()
    frames.tick(2)
    expect(frames.messages).toEqual([
      [1, 2, 3, 4, 5, 6],
      [7, 8]
    ])
    expect(frames.played).toEqual([1, 7])
  })

  it("sends every frame once, in order, at its time at the latest, and never more than aheadMs ahead", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 }).map((frames) => frames * 20),
        fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 60 }),
        (aheadMs, ticks) => {
          const frames = new NumberedFrames(aheadMs)
          for (const available of ticks) {
            frames.tick(available)
            expect((frames.ahead.count + 1) * 20).toBeLessThanOrEqual(Math.max(20, aheadMs))
          }
          const sent = frames.messages.flat()
          expect(sent).toEqual(sent.map((_, n) => n + 1))
          const played = frames.played.filter((frame) => frame !== undefined)
          expect(played).toEqual(sent.slice(0, played.length))
          expect(sent.length - played.length).toBe(frames.ahead.count)
        }
      )
    )
  })
})

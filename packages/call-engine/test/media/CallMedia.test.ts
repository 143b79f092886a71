import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { frame, MediaBench, second } from "./MediaBench.ts"

const numbered = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => (i % 30_000) + 1)

describe("CallMedia, outbound audio to a leg with aheadMs", () => {
  it("is sent in messages of half of that, and is recorded and counts as played at its time", () => {
    const b = new MediaBench({ aheadMs: 120 })
    const recorded: Array<number> = []
    b.media.record({ received: () => {}, sent: () => recorded.push(b.now) })
    b.media.begin("a", "Hello")
    b.write(10 * frame)
    b.media.end()
    expect(b.frames.map(({ length }) => length / frame)).toEqual([1, 5])
    b.run(20)
    expect(b.frames.map(({ length }) => length / frame)).toEqual([1, 5, 3, 1])
    expect(b.sent).toEqual(numbered(10 * frame))
    expect(recorded.length).toBe(10)
    expect(recorded.at(-1)).toBe(160)
    expect(b.log).toEqual(["started a", "played a"])
    expect(b.wheel.idle).toBe(true)
  })

  it("does not count as played before its time", () => {
    const b = new MediaBench({ aheadMs: 120 })
    b.media.begin("a", "Hello")
    b.write(6 * frame)
    b.media.end()
    b.run(5)
    expect(b.log).toEqual(["started a"])
    b.run(2)
    expect(b.log).toEqual(["started a", "played a"])
  })

  it("is not recorded after clear, and is cut where the leg has played it", () => {
    const b = new MediaBench({ aheadMs: 120 })
    let recorded = 0
    b.media.record({ received: () => {}, sent: () => recorded++ })
    b.media.begin("a", "ab cd ef gh")
    b.write(22 * frame)
    for (const characters of [2, 5, 8, 11]) b.media.align(characters, 2 * characters * frame)
    b.run(6)
    const before = recorded
    const [cut] = b.media.clear()
    expect(b.frames.reduce((total, { length }) => total + length / frame, 0)).toBe(12)
    expect(before).toBe(7)
    // Two frames a character: of 12 frames that were sent, "ab cd " in full, 6 to 7 were played.
    expect(cut?.played.trim()).toBe("ab")
    b.run(5)
    expect(recorded).toBe(before)
    expect(b.frames.length).toBe(4)
  })

  it("goes on at whole samples after it was held in a message whose last frame is padded", () => {
    const b = new MediaBench({ aheadMs: 120 })
    b.media.begin("a", "ab cd")
    b.write(4 * frame + 7)
    b.media.align(2, 2 * frame)
    b.media.align(5, 4 * frame + 7)
    b.media.end()
    // While "ab" is over and "cd" has not begun.
    b.run(3)
    b.media.hold()
    b.media.resume()
    b.run(20)
    b.media.begin("b", "ef")
    b.write(2 * frame)
    b.media.end()
    b.run(20)
    // After the first 5 ms, which fade in.
    const faded = 40
    expect(b.sent.slice(faded - 2 * frame)).toEqual(
      Array.from({ length: 2 * frame - faded }, (_, n) => 4 * frame + 8 + faded + n)
    )
    expect(b.log.filter((line) => line.startsWith("played"))).toEqual(["played a", "played b"])
  })

  it.each(["hold", "suspend", "stop"] as const)("sends nothing more when its first message led to %s", (how) => {
    for (const aheadMs of [0, 120]) {
      const b = new MediaBench({ aheadMs })
      b.media.begin("a", "Hello")
      b.onSend = () => {
        if (how === "suspend") b.media.suspend(true)
        else b.media[how]()
      }
      b.write(10 * frame)
      b.run(5)
      expect(b.frames.length).toBe(1)
    }
  })

  it("counts as played when its message stopped the media", () => {
    const b = new MediaBench({ aheadMs: 120 })
    b.media.begin("a", "Hello")
    b.onSend = () => {
      if (b.frames.length === 2) b.media.suspend(true)
    }
    b.write(5 * frame)
    b.media.end()
    expect(b.frames.map(({ length }) => length / frame)).toEqual([1, 4])
    b.run(10)
    expect(b.log).toEqual(["started a", "played a"])
  })

  it("is recorded at its time, and goes on at once, after a stall in which the wheel skipped slots", () => {
    const b = new MediaBench({ aheadMs: 200 })
    const recorded: Array<number> = []
    b.media.record({ received: () => {}, sent: (_frame, at) => recorded.push(at) })
    b.media.begin("a", "Hello")
    b.write(50 * frame)
    b.run(2)
    b.now += 160
    b.wheel.tickDueSlots(b.now, () => b.now)
    expect(b.wheel.skipped).toBeGreaterThan(0)
    // The leg has played what it had in the time of the stall, and has got more.
    expect(recorded.slice(3)).toEqual([60, 80, 100, 120, 140, 160, 180, 200])
    expect(b.sent.length / frame).toBe(20)
  })

  it("goes on with the word that was cut, once, after it was held", () => {
    const b = new MediaBench({ aheadMs: 120 })
    b.media.begin("a", "abcde fghij")
    b.write(22 * frame)
    b.media.align(11, 22 * frame)
    b.media.end()
    b.run(8)
    const heldAfter = b.sent.length
    b.media.hold()
    b.run(10)
    expect(b.sent.length).toBe(heldAfter)
    b.media.resume()
    b.run(40)
    // The frames of the second word again, of which the first samples fade in.
    const second = b.sent.slice(heldAfter)
    expect(second.length % frame).toBe(0)
    expect(second.at(-1)).toBe(22 * frame)
    expect(second.slice(frame)).toEqual(numbered(22 * frame).slice(-(second.length - frame)))
    expect(b.log).toEqual(["started a", "started a", "played a"])
  })
})

describe("CallMedia, outbound audio", () => {
  it("is sent at once in 20 ms frames, and onStarted and onPlayed are called after an utterance's first and last frame", () => {
    const b = new MediaBench()
    b.media.begin("a", "Hello")
    expect(b.write(3 * frame)).toBe(true)
    expect(b.frames.length).toBe(1)
    expect(b.log).toEqual(["started a"])
    expect(b.media.end()).toEqual([])
    b.run(5)
    expect(b.sent).toEqual(numbered(3 * frame))
    expect(b.log).toEqual(["started a", "played a"])
    expect(b.wheel.idle).toBe(true)
    expect(b.media.busy).toBe(false)
  })

  it("pads an utterance's last frame with silence, and waits for a full frame while more is being synthesized", () => {
    const b = new MediaBench()
    b.media.begin("a", "Hello")
    b.write(frame + 40)
    b.run(5)
    expect(b.frames.length).toBe(1)
    b.write(40)
    b.media.end()
    b.run(5)
    expect(b.frames.length).toBe(2)
    expect(b.sent).toEqual([...numbered(frame + 80), ...Array.from({ length: frame - 80 }, () => 0)])
    expect(b.log).toEqual(["started a", "played a"])
  })

  it("joins consecutive utterances without a gap", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame + 40)
    b.media.end()
    b.media.begin("b", "Two")
    b.write(frame)
    b.media.end()
    b.run(5)
    expect(b.sent.slice(0, 2 * frame + 40)).toEqual(numbered(2 * frame + 40))
    expect(b.log).toEqual(["started a", "played a", "started b", "played b"])
  })

  it("does not hold the end of an utterance back for the next one", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame + 1)
    b.media.end()
    b.media.begin("b", "Two")
    b.run(2)
    expect(b.log).toEqual(["started a", "played a"])
    expect(b.media.end()).toEqual(["b"])
    expect(b.wheel.idle).toBe(true)
  })

  it("makes a writer wait when over a second is buffered, and calls it back below half a second", () => {
    const b = new MediaBench()
    let drained = 0
    b.media.begin("a", "Long")
    expect(b.write(second - frame)).toBe(true)
    expect(b.write(3 * frame)).toBe(false)
    b.media.onDrained(() => drained++)
    b.run(24)
    expect(drained).toBe(0)
    b.run(5)
    expect(drained).toBe(1)
    b.run(5)
    expect(drained).toBe(1)
  })

  it("keeps all audio of a writer that does not wait, and calls back when the overflow is sent", () => {
    const b = new MediaBench()
    let drained = 0
    b.media.begin("a", "Long")
    b.write(5 * second)
    expect(b.media.overflowing).toBe(true)
    b.write(2 * second + 77)
    b.media.onDrained(() => drained++)
    b.run(300)
    expect([b.media.overflowing, drained]).toEqual([false, 0])
    b.run(40)
    expect(drained).toBe(1)
    b.media.end()
    b.run(60)
    expect(b.sent.slice(0, 7 * second + 77)).toEqual(numbered(7 * second + 77))
    expect(b.log).toEqual(["started a", "played a"])
  })

  it("does not call an onDrained callback that was removed", () => {
    const b = new MediaBench()
    let drained = 0
    b.media.begin("a", "Long")
    b.write(2 * second)
    const forget = b.media.onDrained(() => drained++)
    forget()
    b.media.clear()
    expect(drained).toBe(0)
  })

  it("reports from end() that an utterance had no audio", () => {
    const b = new MediaBench()
    b.media.begin("a", "")
    expect(b.media.end()).toEqual(["a"])
    expect(b.media.clear()).toEqual([])
    b.run(3)
    expect(b.log).toEqual([])
  })

  it("reports as played exactly the aligned text when cleared, also when the writer did not wait", () => {
    const text = "abcdefghij".repeat(30)
    for (const frames of [1, 50, 99, 150, 299]) {
      const b = new MediaBench()
      b.media.begin("a", text)
      for (let i = 1; i <= 300; i++) {
        b.write(frame)
        b.media.align(i, i * frame)
      }
      // The first frame left at once.
      b.run(frames - 1)
      expect(b.media.clear()).toEqual([{ id: "a", played: text.slice(0, frames) }])
    }
  })

  it("counts an aligned character as played only when all of its audio was sent", () => {
    const b = new MediaBench()
    b.media.begin("a", "abc")
    b.write(frame)
    b.write(frame)
    b.media.align(1, 2 * frame)
    b.write(frame)
    b.media.align(2, 3 * frame)
    expect(b.media.clear()).toEqual([{ id: "a", played: "" }])
  })

  it("takes alignments that come before or long after their audio, and ignores those that go back", () => {
    const b = new MediaBench()
    b.media.begin("a", "one two")
    b.media.align(3, 2 * frame)
    b.write(4 * frame)
    b.media.align(7, 4 * frame)
    b.media.align(100, 4 * frame)
    b.media.end()
    b.media.begin("b", "three four")
    b.write(4 * frame)
    b.run(2)
    expect(b.media.clear()).toEqual([
      { id: "a", played: "one" },
      { id: "b", played: "" }
    ])
    b.media.begin("c", "five six")
    b.write(4 * frame)
    b.run(2)
    b.media.align(4, 2 * frame)
    b.media.align(7, 0)
    expect(b.media.clear()).toEqual([{ id: "c", played: "five" }])
  })

  it("sends nothing while it is suspended, and goes on where it stopped", () => {
    const b = new MediaBench()
    b.media.begin("a", "one two three")
    b.write(10 * frame)
    b.media.end()
    b.run(3)
    b.media.suspend(true)
    b.media.suspend(true)
    const sent = b.frames.length
    b.run(20)
    b.media.begin("b", "four")
    b.write(2 * frame)
    b.media.end()
    b.run(20)
    expect([b.frames.length, b.wheel.idle]).toEqual([sent, true])
    b.media.suspend(false)
    b.run(20)
    expect(b.frames.length).toBe(12)
    expect(b.log).toEqual(["started a", "played a", "started b", "played b"])
  })

  it("estimates the played text to the end of a word when the provider does not align", () => {
    const b = new MediaBench()
    b.media.begin("a", "one two three four")
    b.write(18 * frame)
    b.media.end()
    b.run(9)
    // Ten of eighteen frames: "one two th".
    expect(b.media.clear()).toEqual([{ id: "a", played: "one two" }])
    b.media.begin("b", "one two three four")
    b.write(18 * frame)
    b.run(9)
    // Not yet complete: 0.2 s at 15 characters a second are 3.
    expect(b.media.clear()).toEqual([{ id: "b", played: "one" }])
  })

  it("returns every unfinished utterance from clear(), and reports nothing about them afterwards", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame)
    b.media.end()
    b.media.begin("b", "Two")
    b.write(3 * frame)
    b.media.align(3, 3 * frame)
    b.media.end()
    b.media.begin("c", "Three")
    b.run(1)
    const before = [...b.log]
    expect(b.media.clear()).toEqual([
      { id: "b", played: "" },
      { id: "c", played: "" }
    ])
    const count = b.frames.length
    b.run(10)
    expect(b.log).toEqual(before)
    expect(b.frames.length).toBe(count)
    expect(b.wheel.idle).toBe(true)
  })

  it("may be cleared from within onPlayed", () => {
    const b = new MediaBench()
    b.onPlayed = (id) => {
      if (id === "a") b.media.clear()
    }
    b.media.begin("a", "One")
    b.write(2 * frame)
    b.media.end()
    b.media.begin("b", "Two")
    b.write(5 * frame)
    b.media.end()
    b.run(10)
    expect(b.log).toEqual(["started a", "played a"])
    expect(b.frames.length).toBe(2)
  })

  it("sends nothing after stop()", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(10 * frame)
    b.media.stop()
    b.run(5)
    expect(b.write(frame)).toBe(true)
    b.media.receive(new Uint8Array(2 * frame))
    expect(b.frames.length).toBe(1)
    expect(b.heard.length).toBe(0)
    expect(b.wheel.idle).toBe(true)
  })

  it("is sent complete and in order, whatever the order of writes, reads and ends", () => {
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 3000 }).map((n) => ({ write: n })) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 9 }).map((n) => ({ write: n * frame })) },
      { weight: 1, arbitrary: fc.integer({ min: 10_000, max: 40_000 }).map((n) => ({ write: n })) },
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }).map((n) => ({ run: n })) },
      { weight: 2, arbitrary: fc.constant({ next: true }) }
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const b = new MediaBench()
        let ids = 0
        let total = 0
        const spoken: Array<string> = []
        const finish = (): void => {
          while (b.media.overflowing) b.run(1)
          if (b.media.end().length === 0) spoken.push(`u${ids}`)
        }
        b.media.begin("u0", "text")
        for (const a of actions) {
          if ("write" in a) {
            b.write(a.write)
            total += a.write
          } else if ("run" in a) b.run(a.run)
          else {
            finish()
            b.media.begin(`u${++ids}`, "text")
          }
        }
        finish()
        b.run(200)
        expect(b.wheel.idle).toBe(true)
        expect(b.sent.filter((n) => n !== 0)).toEqual(numbered(total))
        expect(b.log).toEqual(spoken.flatMap((id) => [`started ${id}`, `played ${id}`]))
      }),
      { numRuns: 60 }
    )
  })

  it("sends nothing of what was cleared, and everything written after that", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 30_000 }), fc.integer({ min: 0, max: 150 }), fc.boolean()), {
          maxLength: 8
        }),
        (rounds) => {
          const b = new MediaBench()
          for (const [count, frames, end] of rounds) {
            b.frames.length = 0
            b.next = 1
            b.media.begin("a", "text")
            b.write(count)
            if (end && !b.media.overflowing) b.media.end()
            b.run(frames)
            const sent = b.sent.filter((n) => n !== 0)
            expect(sent).toEqual(numbered(sent.length))
            b.media.clear()
            const after = b.frames.length
            b.run(3)
            expect(b.frames.length).toBe(after)
            expect(b.wheel.idle).toBe(true)
          }
        }
      ),
      { numRuns: 60 }
    )
  })
})

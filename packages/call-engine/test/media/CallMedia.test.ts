import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { frame, MediaBench, second } from "./MediaBench.ts"

const numbered = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => (i % 30_000) + 1)

describe("the audio to the caller", () => {
  it("leaves at once, in frames of 20 ms, each utterance told when its first and last frame have left", () => {
    const b = new MediaBench()
    b.media.begin("a", "Hello")
    expect(b.write(3 * frame)).toBe(true)
    expect(b.frames.length).toBe(1)
    expect(b.told).toEqual(["started a"])
    expect(b.media.end()).toBe(true)
    b.run(5)
    expect(b.sent).toEqual(numbered(3 * frame))
    expect(b.told).toEqual(["started a", "played a"])
    expect(b.wheel.idle).toBe(true)
    expect(b.media.busy).toBe(false)
  })

  it("fills up the last frame with silence, and waits for the rest while more is being synthesized", () => {
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
    expect(b.told).toEqual(["started a", "played a"])
  })

  it("joins one utterance to the next without a gap", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame + 40)
    b.media.end()
    b.media.begin("b", "Two")
    b.write(frame)
    b.media.end()
    b.run(5)
    expect(b.sent.slice(0, 2 * frame + 40)).toEqual(numbered(2 * frame + 40))
    expect(b.told).toEqual(["started a", "played a", "started b", "played b"])
  })

  it("does not keep the end of an utterance back for the next one, which may never come", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame + 1)
    b.media.end()
    b.media.begin("b", "Two")
    b.run(2)
    expect(b.told).toEqual(["started a", "played a"])
    expect(b.media.end()).toBe(false)
    expect(b.wheel.idle).toBe(true)
  })

  it("asks a writer to wait beyond a second, and calls it back below half of one", () => {
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

  it("keeps all of a writer that does not wait, and calls back when its surplus is gone", () => {
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
    expect(b.told).toEqual(["started a", "played a"])
  })

  it("forgets a callback that is not wanted any more", () => {
    const b = new MediaBench()
    let drained = 0
    b.media.begin("a", "Long")
    b.write(2 * second)
    const forget = b.media.onDrained(() => drained++)
    forget()
    b.media.clear()
    expect(drained).toBe(0)
  })

  it("says of an utterance without audio that it had none", () => {
    const b = new MediaBench()
    b.media.begin("a", "")
    expect(b.media.end()).toBe(false)
    expect(b.media.clear()).toEqual([])
    b.run(3)
    expect(b.told).toEqual([])
  })

  it("is cut exactly where it was aligned, also when the writer did not wait", () => {
    const text = "abcdefghij".repeat(30)
    for (const frames of [1, 50, 99, 150, 299]) {
      const b = new MediaBench()
      b.media.begin("a", text)
      for (let i = 1; i <= 300; i++) {
        b.write(frame)
        b.media.align(i)
      }
      // The first frame left at once.
      b.run(frames - 1)
      expect(b.media.clear()).toEqual([{ id: "a", played: text.slice(0, frames) }])
    }
  })

  it("counts an aligned character only when all of its audio has left", () => {
    const b = new MediaBench()
    b.media.begin("a", "abc")
    b.write(frame)
    b.write(frame)
    b.media.align(1)
    b.write(frame)
    b.media.align(2)
    expect(b.media.clear()).toEqual([{ id: "a", played: "" }])
  })

  it("is cut by estimate at the end of a word where nothing was aligned", () => {
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
    expect(b.media.clear()).toEqual([{ id: "b", played: "" }])
  })

  it("tells of every utterance that was not over when it is cut, and nothing of them afterwards", () => {
    const b = new MediaBench()
    b.media.begin("a", "One")
    b.write(frame)
    b.media.end()
    b.media.begin("b", "Two")
    b.write(3 * frame)
    b.media.align(3)
    b.media.end()
    b.media.begin("c", "Three")
    b.run(1)
    const told = [...b.told]
    expect(b.media.clear()).toEqual([
      { id: "b", played: "" },
      { id: "c", played: "" }
    ])
    const count = b.frames.length
    b.run(10)
    expect(b.told).toEqual(told)
    expect(b.frames.length).toBe(count)
    expect(b.wheel.idle).toBe(true)
  })

  it("may be cut by whoever is told that an utterance was played", () => {
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
    expect(b.told).toEqual(["started a", "played a"])
    expect(b.frames.length).toBe(2)
  })

  it("stops for good with the call", () => {
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

  it("is kept in order, whole, whatever is written, read and ended when", () => {
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
          if (b.media.end()) spoken.push(`u${ids}`)
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
        expect(b.told).toEqual(spoken.flatMap((id) => [`started ${id}`, `played ${id}`]))
      }),
      { numRuns: 60 }
    )
  })

  it("never sends after it was cut, and loses nothing of what comes next", () => {
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

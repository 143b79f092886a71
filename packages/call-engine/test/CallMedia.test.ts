import type { AudioFormat } from "@svc/providers/Audio"
import { frameSamples } from "@svc/providers/Audio"
import { pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CallMedia } from "../src/media/CallMedia.ts"
import { FrameWheel } from "../src/media/FrameWheel.ts"

const pcm8k: AudioFormat = { encoding: "pcm16", sampleRate: 8000 }
const frame = 160
const second = 8000

/** A call's audio on a wheel that the test turns. Samples are numbered, so that nothing can be lost or swapped unseen. */
class Bench {
  now = 0
  next = 1
  readonly frames: Array<Int16Array> = []
  readonly told: Array<string> = []
  readonly heard: Array<Int16Array> = []
  speech = false
  onPlayed: (id: string) => void = () => {}
  onFrame: () => void = () => {}
  readonly wheel = new FrameWheel(() => {})
  readonly media: CallMedia

  constructor(format: AudioFormat = pcm8k) {
    this.media = new CallMedia({
      format,
      wheel: this.wheel,
      now: () => this.now,
      send: (bytes) => this.frames.push(new Int16Array(bytes.slice().buffer)),
      detector: { push: () => (this.speech ? "speech" : "silence") },
      listener: {
        onFrame: (pcm) => {
          this.heard.push(pcm.slice())
          this.onFrame()
        },
        onVoice: (on) => this.told.push(on ? "voice" : "quiet"),
        onStarted: (id) => this.told.push(`started ${id}`),
        onPlayed: (id) => {
          this.told.push(`played ${id}`)
          this.onPlayed(id)
        }
      }
    })
  }

  /** The next so many numbered samples; 0 is silence. */
  samples(count: number): Int16Array {
    return Int16Array.from({ length: count }, () => {
      const n = this.next
      this.next = n === 30_000 ? 1 : n + 1
      return n
    })
  }

  write(count: number): boolean {
    return this.media.write(this.samples(count))
  }

  run(frames: number): void {
    for (let i = 0; i < frames; i++) {
      const end = this.now + 20
      while (!this.wheel.idle && this.wheel.nextDue <= end) this.wheel.pulse(this.wheel.nextDue, () => this.now)
      this.now = end
    }
  }

  get sent(): ReadonlyArray<number> {
    return this.frames.flatMap((f) => [...f])
  }
}

const numbered = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => (i % 30_000) + 1)

describe("the audio to the caller", () => {
  it("leaves at once, in frames of 20 ms, each utterance told when its first and last frame have left", () => {
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
    let drained = 0
    b.media.begin("a", "Long")
    b.write(2 * second)
    const forget = b.media.onDrained(() => drained++)
    forget()
    b.media.clear()
    expect(drained).toBe(0)
  })

  it("says of an utterance without audio that it had none", () => {
    const b = new Bench()
    b.media.begin("a", "")
    expect(b.media.end()).toBe(false)
    expect(b.media.clear()).toEqual([])
    b.run(3)
    expect(b.told).toEqual([])
  })

  it("is cut exactly where it was aligned, also when the writer did not wait", () => {
    const text = "abcdefghij".repeat(30)
    for (const frames of [1, 50, 99, 150, 299]) {
      const b = new Bench()
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
    const b = new Bench()
    b.media.begin("a", "abc")
    b.write(frame)
    b.write(frame)
    b.media.align(1)
    b.write(frame)
    b.media.align(2)
    expect(b.media.clear()).toEqual([{ id: "a", played: "" }])
  })

  it("is cut by estimate at the end of a word where nothing was aligned", () => {
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
    const b = new Bench()
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
        const b = new Bench()
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
          const b = new Bench()
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

describe("the audio of the caller", () => {
  const bytes = (from: number, samples: number): Uint8Array =>
    new Uint8Array(Int16Array.from({ length: samples }, (_, i) => from + i).buffer)

  it("comes in frames of 20 ms, however it arrives", () => {
    const b = new Bench()
    const all = bytes(1, 5 * frame)
    for (const [from, to] of [
      [0, 2],
      [2, 320],
      [320, 322],
      [322, 1400],
      [1400, 1600]
    ] as const) {
      b.media.receive(all.subarray(from, to))
    }
    expect(b.heard.length).toBe(5)
    expect(b.heard.flatMap((f) => [...f])).toEqual(Array.from({ length: 5 * frame }, (_, i) => i + 1))
  })

  it("is told as voice when the detector says so, and once", () => {
    const b = new Bench()
    b.speech = true
    b.media.receive(bytes(1, 3 * frame))
    b.speech = false
    b.media.receive(bytes(1, 3 * frame))
    expect(b.told).toEqual(["voice", "quiet"])
  })

  it("is quiet once the recognizer has heard the end, though the detector lingers", () => {
    const b = new Bench()
    b.speech = true
    b.media.receive(bytes(1, 3 * frame))
    b.media.quiet()
    b.media.receive(bytes(1, 8 * frame))
    b.speech = false
    b.media.receive(bytes(1, frame))
    expect(b.told).toEqual(["voice", "quiet"])
    b.speech = true
    b.media.receive(bytes(1, frame))
    expect(b.told).toEqual(["voice", "quiet", "voice"])
  })

  it("is voice again when the caller speaks right on", () => {
    const b = new Bench()
    b.speech = true
    b.media.receive(bytes(1, frame))
    b.media.quiet()
    b.media.receive(bytes(1, 16 * frame))
    expect(b.told).toEqual(["voice", "quiet", "voice"])
  })

  it("may be called quiet from within a frame", () => {
    const b = new Bench()
    b.speech = true
    b.onFrame = () => b.media.quiet()
    b.media.receive(bytes(1, 5 * frame))
    expect(b.told).toEqual(["voice", "quiet"])
  })
})

describe("each format", () => {
  const levels = Int16Array.from({ length: 160 }, (_, i) => Math.round(Math.sin(i / 7) * 12_000))

  it.each([
    ["mulaw", 8000, 1],
    ["alaw", 8000, 1],
    ["pcm16", 8000, 2],
    ["pcm16", 16_000, 2],
    ["pcm16", 24_000, 2]
  ] as const)("%s at %i Hz carries speech both ways, 20 ms a frame", (encoding, sampleRate, size) => {
    const format: AudioFormat = { encoding, sampleRate }
    const sent: Array<Uint8Array> = []
    const heard: Array<Int16Array> = []
    const media: CallMedia = new CallMedia({
      format,
      wheel: new FrameWheel(() => {}),
      now: () => 0,
      send: (bytes) => sent.push(bytes.slice()),
      detector: { push: () => "silence" },
      listener: {
        onFrame: (pcm) => heard.push(pcm.slice()),
        onVoice: () => {},
        onStarted: () => {},
        onPlayed: () => {}
      }
    })
    media.begin("a", "x")
    media.write(Int16Array.from({ length: frameSamples(format) }, (_, i) => levels[i % 160] ?? 0))
    expect(sent.map((f) => f.length)).toEqual([frameSamples(format) * size])
    media.receive(sent[0] ?? new Uint8Array())
    expect(heard.map((f) => f.length)).toEqual([frameSamples(format)])
    for (const [i, x] of (heard[0] ?? []).entries()) {
      const wanted = levels[i % 160] ?? 0
      // G.711 is good to about 3 %.
      expect(Math.abs(x - wanted)).toBeLessThanOrEqual(encoding === "pcm16" ? 0 : Math.abs(wanted) * 0.04 + 16)
    }
  })

  it.each([
    ["mulaw", pcmToMulaw],
    ["alaw", pcmToAlaw]
  ] as const)("%s fills up with what decodes as silence", (encoding, encode) => {
    const sent: Array<Uint8Array> = []
    const media = new CallMedia({
      format: { encoding, sampleRate: 8000 },
      wheel: new FrameWheel(() => {}),
      now: () => 0,
      send: (bytes) => sent.push(bytes.slice()),
      detector: { push: () => "silence" },
      listener: { onFrame: () => {}, onVoice: () => {}, onStarted: () => {}, onPlayed: () => {} }
    })
    const silence = new Uint8Array(1)
    encode(new Int16Array(1), 0, 1, silence, 0)
    media.begin("a", "x")
    media.write(Int16Array.of(1000))
    media.end()
    expect(sent.length).toBe(1)
    expect(sent[0]?.subarray(1).every((b) => b === silence[0])).toBe(true)
  })
})

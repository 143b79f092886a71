import type { PlaybackMarks } from "@svc/providers/Telephony"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { FrameWheel } from "../../src/media/FrameWheel.ts"

const frame = 160

/** What a leg does with a mark that it is asked for. */
type OnMark = (name: string, bench: MarksBench) => void

/** Confirms each mark as played after a time. */
const after =
  (ms: number): OnMark =>
  (name, bench) =>
    bench.confirmLater(ms, name)

/** Confirms each mark as played `ms` after the last frame before it was due to be sent, also when it was sent ahead of time. */
const afterDue =
  (ms: number): OnMark =>
  (name, bench) =>
    bench.confirmLater(Math.max(0, (bench.sent - 1) * 20 - bench.now) + ms, name)

/** The audio of a call on a leg, in virtual time. An utterance has one frame for each character of its text. */
class MarksBench {
  now = 0
  readonly log: Array<string> = []
  readonly marks: Array<string> = []
  /** How long ago each played utterance had ended. */
  readonly late: Array<number> = []
  /** Frames. */
  sent = 0
  kind: PlaybackMarks
  readonly wheel = new FrameWheel(() => {})
  readonly media: CallMedia
  private later: Array<{ readonly at: number; readonly name: string; readonly outcome: "played" | "cleared" }> = []

  constructor(kind: PlaybackMarks, onMark: OnMark, delayMs = 0, aheadMs = 0) {
    this.kind = kind
    const mark = (name: string) => {
      this.marks.push(name)
      onMark(name, this)
    }
    this.media = new CallMedia({
      format: { encoding: "pcm16", sampleRate: 8000 },
      wheel: this.wheel,
      now: () => this.now,
      send: (bytes) => {
        this.sent += bytes.length / 2 / frame
      },
      aheadMs,
      leg: { marks: () => this.kind, mark, delayMs },
      detector: { push: () => "silence" },
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: (id) => this.log.push(`${this.now} started ${id}`),
        onPlayed: (id, late) => {
          this.log.push(`${this.now} played ${id}`)
          this.late.push(late)
        }
      }
    })
  }

  confirmLater(ms: number, name: string, outcome: "played" | "cleared" = "played"): void {
    this.later.push({ at: this.now + ms, name, outcome })
  }

  begin(id: string, text: string): void {
    this.media.begin(id, text)
    for (let n = 1; n <= text.length; n++) this.media.align(n, n * frame)
  }

  /** At most two seconds, which is what fits into the playout buffer. */
  say(id: string, text: string): void {
    this.begin(id, text)
    this.media.write(new Int16Array(text.length * frame).fill(1))
    this.media.end()
  }

  run(ms: number): void {
    for (const until = this.now + ms; this.now < until; ) {
      this.now += 5
      while (!this.wheel.idle && this.wheel.nextDue <= this.now) {
        this.wheel.tickDueSlots(this.wheel.nextDue, () => this.now)
      }
      const due = this.later.filter(({ at }) => at <= this.now)
      this.later = this.later.filter(({ at }) => at > this.now)
      for (const { name, outcome } of due) this.media.confirm(name, outcome)
    }
  }

  playedAt(id: string): ReadonlyArray<number> {
    return this.log.flatMap((line) => (line.endsWith(` played ${id}`) ? [Number.parseInt(line, 10)] : []))
  }

  /** How many frames of the only utterance were played when it was stopped. */
  cut(): number | undefined {
    return this.media.clear()[0]?.played.length
  }
}

const text = (frames: number): string => "x".repeat(frames)

describe("PlaybackMarks", () => {
  it("asks for marks at the beginning and the end of an utterance, and every 200 ms within it", () => {
    const at: Array<number> = []
    const b = new MarksBench("exact", (name, bench) => {
      at.push(bench.sent)
      bench.media.confirm(name, "played")
    })
    b.say("a", text(35))
    b.run(1000)
    expect(at).toEqual([1, 11, 21, 31, 35])
    expect(b.marks).toEqual(["p0", "p1", "p2", "p3", "p4"])
  })

  it.each([0, 100, 300])("an utterance is played when the mark at its end is confirmed, %i ms late", (ms) => {
    for (const kind of ["exact", "echoed"] as const) {
      const b = new MarksBench(kind, after(ms))
      b.say("a", text(50))
      b.run(960)
      expect(b.log).toEqual(["0 started a"])
      b.run(2000)
      expect(b.playedAt("a")).toEqual([980 + ms])
      expect(b.wheel.idle).toBe(true)
    }
  })

  it("on a leg without marks, an utterance is played when the network's delay has passed, and no mark is asked for", () => {
    for (const delay of [0, 150]) {
      const b = new MarksBench("none", () => expect.fail("asked for a mark"), delay)
      b.say("a", text(50))
      b.run(2000)
      expect(b.playedAt("a")).toEqual([delay === 0 ? 980 : 1135])
    }
  })

  it.each([
    ["none", 0, 0],
    ["none", 150, 0],
    ["exact", 0, 120],
    ["echoed", 0, 120]
  ] as const)(
    "on a leg with marks %s and a delay of %i ms, the end of an utterance is as late as it is reported",
    (kind, delay, confirmed) => {
      const b = new MarksBench(kind, after(confirmed), delay)
      b.begin("a", text(10))
      b.media.write(new Int16Array(10 * frame).fill(1))
      b.run(1000)
      expect(b.log).toEqual(["0 started a"])
      b.media.end()
      b.run(20)
      expect(b.playedAt("a")).toEqual([1000])
      // The last frame is played at 180 ms.
      expect(b.late).toEqual([1000 - 180 - delay - confirmed])
    }
  )

  it("the next utterance starts when the one before it was played, though its frames are sent earlier", () => {
    const b = new MarksBench("echoed", after(100))
    b.say("a", text(5))
    b.say("b", text(10))
    b.run(1000)
    expect(b.log).toEqual(["0 started a", "180 played a", "180 started b", "380 played b"])
  })

  it("an utterance without a confirmed mark is played when its first mark is overdue: after 2 s", () => {
    const b = new MarksBench("exact", () => {}, 100)
    b.say("a", text(50))
    b.run(5000)
    // The end is looked for every 20 ms.
    expect(b.playedAt("a")).toEqual([100 + 2000 + 15])
    expect(b.wheel.idle).toBe(true)
  })

  it.each([
    ["come twice", (name: string, b: MarksBench) => [after(100)(name, b), after(140)(name, b)]],
    ["are labelled cleared", (name: string, b: MarksBench) => b.confirmLater(100, name, "cleared")],
    [
      "are played and then cleared",
      (name: string, b: MarksBench) => [after(100)(name, b), b.confirmLater(110, name, "cleared")]
    ],
    ["have unknown names", (name: string, b: MarksBench) => [after(100)(`${name}0`, b), after(100)("p", b)]],
    ["are not numbers", (_: string, b: MarksBench) => [after(0)("p-1", b), after(0)("p1e0", b), after(0)("", b)]],
    ["come in reverse order", (name: string, b: MarksBench) => b.confirmLater(name === "p5" ? 100 : 300, name)]
  ])("an utterance is reported as played once, and within the limit, when marks %s", (_, onMark) => {
    const b = new MarksBench("exact", onMark)
    b.say("a", text(50))
    b.run(5000)
    expect(b.playedAt("a").length).toBe(1)
    expect(b.playedAt("a")[0]).toBeGreaterThanOrEqual(980)
    expect(b.playedAt("a")[0]).toBeLessThanOrEqual(980 + 2000 + 20)
  })

  it("a burst of frames that is confirmed at once counts as played when its time has passed", () => {
    const b = new MarksBench("exact", (name, bench) => bench.media.confirm(name, "played"))
    b.say("a", text(6))
    // The loop stands still for 100 ms, and sends what is due at once.
    b.now = 100
    b.wheel.tickDueSlots(100, () => b.now)
    expect(b.sent).toBe(6)
    expect(b.playedAt("a")).toEqual([])
    b.run(200)
    expect(b.playedAt("a")[0]).toBeGreaterThanOrEqual(160)
  })

  it.each([
    ["exact", 0, 0, 20],
    ["exact", 150, 0, 13],
    ["echoed", 100, 0, 15],
    ["echoed", 300, 0, 5],
    ["none", 0, 0, 20],
    ["none", 0, 200, 10]
  ] as const)(
    "speech on a leg with %s marks, %i ms late, or a delay of %i ms, is cut where the caller heard it",
    (kind, late, delay, heard) => {
      const b = new MarksBench(kind, after(late), delay)
      b.say("a", text(100))
      b.run(385)
      expect(b.sent).toBe(20)
      const cut = b.cut() ?? 0
      // To the frame.
      expect(Math.abs(cut - heard)).toBeLessThanOrEqual(1)
      b.run(5000)
      expect([b.sent, b.playedAt("a")]).toEqual([20, []])
    }
  )

  it.each([
    ["exact", 0, 0],
    ["exact", 150, 0],
    ["echoed", 100, 0],
    ["none", 0, 0],
    ["none", 0, 200]
  ] as const)(
    "speech that is sent 200 ms ahead to a leg with %s marks, %i ms late, or a delay of %i ms, counts as played and is cut where the caller heard it",
    (kind, late, delay) => {
      const b = new MarksBench(kind, afterDue(late), delay, 200)
      b.say("a", text(50))
      b.run(2000)
      expect(b.log[0]).toBe("0 started a")
      // The end of an estimate is looked for every 20 ms.
      expect(Math.abs((b.playedAt("a")[0] ?? 0) - (980 + late + delay))).toBeLessThanOrEqual(20)
      const other = new MarksBench(kind, afterDue(late), delay, 200)
      other.say("a", text(100))
      other.run(385)
      const { sent } = other
      expect(sent).toBeGreaterThan(20)
      // To the frame.
      expect(Math.abs((other.cut() ?? 0) - (20 - (late + delay) / 20))).toBeLessThanOrEqual(1)
      other.run(5000)
      expect([other.sent, other.playedAt("a")]).toEqual([sent, []])
    }
  )

  it("marks come at the end of a message where audio is sent ahead", () => {
    const at: Array<number> = []
    const b = new MarksBench("exact", (_name, bench) => void at.push(bench.sent), 0, 200)
    b.say("a", text(35))
    b.run(1000)
    expect(at).toEqual([1, 15, 25, 35])
  })

  it("speech is not cut after the first mark that is pending, as long as that is not overdue", () => {
    const b = new MarksBench("exact", (name, bench) => {
      if (name === "p0" || name === "p1") bench.confirmLater(0, name)
    })
    b.say("a", text(200))
    b.run(1600)
    expect(b.cut()).toBe(21)
    b.begin("b", text(200))
    for (let part = 0; part < 4; part++) {
      b.media.write(new Int16Array(50 * frame).fill(1))
      b.run(875)
    }
    // The leg confirms no more: what could have been played counts.
    expect(b.cut()).toBeGreaterThanOrEqual(170)
  })

  it("marks from before a cut are not taken for those after it", () => {
    const b = new MarksBench("echoed", after(300))
    b.say("a", text(20))
    b.run(200)
    b.cut()
    b.say("b", text(10))
    b.run(100)
    expect(b.playedAt("b")).toEqual([])
    b.run(1000)
    expect(b.playedAt("b")).toEqual([200 + 180 + 300])
  })

  it("the time for a mark that does not come runs on without media", () => {
    const b = new MarksBench("exact", () => {})
    b.say("a", text(50))
    b.run(1500)
    b.media.suspend(true)
    b.run(10_000)
    // The end is looked for every 20 ms.
    expect(b.playedAt("a")).toEqual([2015])
    expect(b.wheel.idle).toBe(true)
  })

  it("without media, what was not sent is not played", () => {
    const b = new MarksBench("exact", () => {})
    b.say("a", text(50))
    b.run(500)
    b.media.suspend(true)
    b.run(10_000)
    expect([b.playedAt("a"), b.sent]).toEqual([[], 26])
    b.media.suspend(false)
    b.run(4000)
    expect([b.playedAt("a").length, b.sent]).toEqual([1, 50])
  })

  it("marks that a time without media delayed are not used to estimate how late the leg is", () => {
    const b = new MarksBench("exact", after(100))
    b.say("a", text(30))
    b.run(400)
    const held = [...b.marks].at(-1) ?? ""
    b.media.suspend(true)
    b.run(3000)
    b.media.suspend(false)
    b.media.confirm(held, "played")
    b.run(40)
    // All that was sent before the time without media.
    expect(b.cut()).toBeGreaterThanOrEqual(19)
  })

  it("after its first overdue mark, a leg that confirms nothing is estimated until it confirms a mark again", () => {
    let confirms = false
    const b = new MarksBench("exact", (name, bench) => confirms && bench.confirmLater(300, name), 100)
    b.say("a", text(50))
    b.run(5000)
    b.say("b", text(50))
    b.run(400)
    // No word of the first 2 s is missing: 400 ms less the delay are 15 frames.
    expect(Math.abs((b.cut() ?? 0) - 15)).toBeLessThanOrEqual(1)
    b.say("c", text(50))
    b.run(2000)
    expect(b.playedAt("c")).toEqual([5400 + 980 + 100 + 15])
    confirms = true
    b.say("d", text(50))
    b.run(2000)
    expect(b.playedAt("d")).toEqual([7400 + 980 + 300])
  })

  it("echoed marks do not make audio played before it can have reached the caller", () => {
    const b = new MarksBench("echoed", after(50), 200)
    b.say("a", text(50))
    b.run(400)
    expect(b.playedAt("a")).toEqual([])
    b.run(2000)
    expect(b.playedAt("a")).toEqual([980 + 200 + 15])
    b.say("b", text(50))
    b.run(400)
    expect(Math.abs((b.cut() ?? 0) - 10)).toBeLessThanOrEqual(1)
  })

  it("a mark that comes without media counts, and speech can be cut then", () => {
    const b = new MarksBench("exact", after(300))
    b.say("a", text(10))
    b.run(200)
    b.media.suspend(true)
    b.run(1000)
    expect(b.playedAt("a")).toEqual([480])
    b.say("b", text(10))
    expect(b.cut()).toBe(0)
  })

  it("a leg that stops to have marks is estimated from then on", () => {
    const b = new MarksBench("exact", () => {})
    b.say("a", text(50))
    b.run(500)
    b.kind = "none"
    b.run(1000)
    expect(b.playedAt("a")).toEqual([980])
  })

  it("nothing is reported after the end of the call", () => {
    const b = new MarksBench("exact", after(100))
    b.say("a", text(10))
    b.run(200)
    b.media.stop()
    b.run(5000)
    expect(b.log).toEqual(["0 started a"])
    expect(b.wheel.idle).toBe(true)
  })

  it("whatever a leg says: an utterance is played once, not before it was sent, and at most 2 s after", () => {
    const lie = fc.record({
      ms: fc.integer({ min: 0, max: 3000 }),
      name: fc.oneof(
        fc.constant(undefined),
        fc.integer({ min: 0, max: 40 }).map((n) => `p${n}`)
      ),
      outcome: fc.constantFrom("played" as const, "cleared" as const)
    })
    fc.assert(
      fc.property(
        fc.array(lie, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: 4000 }),
        (lies, lengths, stopAt) => {
          let marks = 0
          const b = new MarksBench("exact", (name, bench) => {
            const said = lies[marks++ % Math.max(1, lies.length)]
            if (said !== undefined) bench.confirmLater(said.ms, said.name ?? name, said.outcome)
          })
          for (const [n, length] of lengths.entries()) b.say(`${n}`, text(length))
          const total = lengths.reduce((sum, length) => sum + length, 0)
          b.run(stopAt)
          const cuts = b.media.clear()
          let end = 0
          for (const [n, length] of lengths.entries()) {
            end += length
            const times = b.playedAt(`${n}`)
            const played = times.length === 1 ? length : (cuts.find(({ id }) => id === `${n}`)?.played.length ?? -1)
            expect(times.length).toBeLessThanOrEqual(1)
            expect(played).toBeGreaterThanOrEqual(0)
            for (const time of times) {
              expect(time).toBeGreaterThanOrEqual((end - 1) * 20)
              expect(time).toBeLessThanOrEqual((end - 1) * 20 + 2000 + 20)
            }
            expect(end - length + played).toBeLessThanOrEqual(played === 0 ? total : b.sent)
          }
        }
      ),
      { numRuns: 300 }
    )
  })
})

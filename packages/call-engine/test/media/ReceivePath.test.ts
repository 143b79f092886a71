import { codecOf } from "@svc/audio/Codec"
import type { AudioFormat } from "@svc/providers/Audio"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type FrameSource, FrameWheel } from "../../src/media/FrameWheel.ts"
import { ReceivePath } from "../../src/media/ReceivePath.ts"
import { RecordedCall } from "../../src/recording/RecordedCall.ts"

const format: AudioFormat = { encoding: "pcm16", sampleRate: 8000 }
const frame = 160

/** Before the clock is read for the `reads`-th time after the last stall, the process stalls for `ms`. */
interface Stall {
  readonly reads: number
  readonly ms: number
}

/**
 * How a leg delivers 20 ms of audio, what comes first after a stall, the tick or what waits in the socket, and whether
 * many calls are heard.
 */
interface Line {
  readonly kind: "packets" | "audio without gaps"
  readonly first: "tick" | "read"
  readonly calls: "few" | "many"
}

/** The number of a sample; 0 is silence. */
const sampleAt = (n: number): number => (n % 30_000) + 1

const bytesOf = (sequence: number): Uint8Array =>
  new Uint8Array(Int16Array.from({ length: frame }, (_, n) => sampleAt(sequence * frame + n)).buffer)

/** A wheel for which one call is many, or never. */
const wheelFor = (calls: Line["calls"]): FrameWheel =>
  new FrameWheel(() => {}, calls === "many" ? 1 : Number.POSITIVE_INFINITY)

/** A caller who speaks for `frames` frames to a process that stalls. Gives what was heard frame by frame, and recorded. */
const receive = (frames: number, stalls: ReadonlyArray<Stall>, { calls, first, kind }: Line) => {
  let now = 0
  let reads = 0
  const waiting = [...stalls]
  const clock = (): number => {
    reads++
    for (let next = waiting[0]; next !== undefined && next.reads <= reads; next = waiting[0]) {
      waiting.shift()
      now += next.ms
      reads = 0
    }
    return now
  }
  const wheel = wheelFor(calls)
  const heard: Array<{ readonly samples: Int16Array; readonly at: number; readonly isSilence: boolean }> = []
  const recorded: Array<number> = []
  const recording = new RecordedCall(format, 0)
  const record = (caller: Uint8Array<ArrayBuffer>) => recorded.push(...new Int16Array(caller.buffer))
  recording.start({ write: record, end: record, cancel: () => {} })
  const path = new ReceivePath({ format, codec: codecOf(format), wheel, now: clock, onFrame: () => {} })
  path.record((bytes, at, isSilence) => {
    heard.push({ samples: new Int16Array(bytes.slice().buffer), at, isSilence })
    recording.received(bytes, at, isSilence)
  })
  let sent = 0
  const read = (): void => {
    for (; sent < frames && (sent + 1) * 20 <= now; sent++) {
      if (kind === "packets")
        path.receive(bytesOf(sent), (65_500 + sent) & 0xffff, (4_294_960_000 + sent * frame) >>> 0)
      else path.receive(bytesOf(sent), undefined, undefined)
    }
  }
  while (sent < frames) {
    now = Math.max(now, Math.min((sent + 1) * 20, wheel.idle ? Number.POSITIVE_INFINITY : wheel.nextDue))
    if (first === "read") read()
    if (!wheel.idle) wheel.tickDueSlots(clock(), clock)
    if (first === "tick") read()
    recording.handOver(now)
  }
  // The last frame may wait for another one.
  for (const end = now + 60; !wheel.idle && wheel.nextDue < end; ) {
    now = Math.max(now, wheel.nextDue)
    wheel.tickDueSlots(now, () => now)
  }
  recording.stop(now)
  return { heard, recorded, quality: path.quality }
}

/** The first frame that is not what the caller said then, and how many frames there are. */
const faultOf = (heard: ReturnType<typeof receive>["heard"]) => {
  const at = heard.findIndex(({ samples }, i) => !samples.every((sample, n) => sample === sampleAt(i * frame + n)))
  return {
    fault: heard[at] === undefined ? "none" : `frame ${at}, silence: ${heard[at].isSilence}`,
    frames: heard.length
  }
}

const lines = (["packets", "audio without gaps"] as const).flatMap((kind) =>
  (["tick", "read"] as const).flatMap((first) =>
    (["few", "many"] as const).map((calls): Line => ({ kind, first, calls }))
  )
)

describe("ReceivePath, while the process stalls", () => {
  for (const line of lines)
    it.each([40, 60, 200, 500, 1000, 2000])(
      `hears all that the caller says, in order and without silence: ${line.kind}, ${line.first} first, ${line.calls} calls, %i ms`,
      (ms) => {
        const { heard, quality, recorded } = receive(300, [{ reads: 200, ms }], line)
        expect(faultOf(heard)).toEqual({ fault: "none", frames: 300 })
        if (line.kind === "packets") expect(quality).toEqual({ packetsLost: 0, packetsLate: 0, jitterMs: 0 })
        // In the recording, all of it is where it was said.
        const apart = (sample: number, n: number) => Math.abs(sample - sampleAt(n))
        const off = recorded.flatMap((sample, n) =>
          sample === 0 ? [] : [Math.min(apart(sample, n), 30_000 - apart(sample, n))]
        )
        expect(Math.max(...off)).toBeLessThanOrEqual(frame)
        expect(off.length).toBeGreaterThan(298 * frame)
      }
    )

  it("hears all that the caller says, whenever and however often it stalls", () => {
    const few = fc.record({ reads: fc.nat(300), ms: fc.nat(2000) })
    const many = fc.record({ reads: fc.nat(4), ms: fc.nat(60) })
    fc.assert(
      fc.property(
        fc.oneof(fc.array(few, { maxLength: 8 }), fc.array(many, { minLength: 40, maxLength: 200 })),
        fc.constantFrom(...lines),
        (stalls, line) => {
          expect(faultOf(receive(150, stalls, line).heard)).toEqual({ fault: "none", frames: 150 })
        }
      ),
      { numRuns: 300 }
    )
  })

  it("knows when each frame came that waited to be read, also when it stalls again and again", () => {
    for (const line of lines) {
      for (const ms of [60, 150, 800]) {
        for (const reads of [30, 33, 61, 200]) {
          const stalls = Array.from({ length: 8 }, () => ({ reads, ms }))
          const late = receive(300, stalls, line).heard.map(({ at }, n) => at - n * 20)
          expect([line, ms, reads, ...new Set(late)]).toEqual([line, ms, reads, 0])
        }
      }
    }
  })

  it("knows that audio came later when the network stood still as well", () => {
    const wheel = new FrameWheel(() => {})
    let now = 0
    const began: Array<number> = []
    const codec = codecOf(format)
    const path = new ReceivePath({ format, codec, wheel, now: () => now, onFrame: (_, at) => void began.push(at) })
    for (let n = 0; n < 40; n++) {
      now += n === 20 ? 150 : 20
      wheel.tickDueSlots(now, () => now)
      path.receive(bytesOf(n), undefined, undefined)
    }
    // Of the first three after the stall it is not known that no more will come at once.
    const times = [...Array(23).keys()].map((n) => n * 20)
    expect(began).toEqual([...times, ...Array.from({ length: 17 }, (_, n) => 590 + n * 20)])
  })

  it("sends late frames of other calls after a packet, whose bytes the plugin may use again then", () => {
    let now = 0
    const wheel = new FrameWheel(() => {})
    const bytes = bytesOf(0)
    const sent: Array<number> = []
    const other: FrameSource = {
      tick: () => {
        sent.push(now)
        bytes.fill(1)
        return true
      }
    }
    wheel.join(other, now)
    const heard: Array<number | undefined> = []
    const path = new ReceivePath({
      format,
      codec: codecOf(format),
      wheel,
      now: () => now,
      onFrame: (samples) => heard.push(samples[0])
    })
    now = 15
    path.receive(bytesOf(0), undefined, undefined)
    expect([sent, heard]).toEqual([[0], [sampleAt(0)]])
    bytes.set(bytesOf(1))
    now = 35
    path.receive(bytes, undefined, undefined)
    expect([sent, heard]).toEqual([
      [0, 35],
      [sampleAt(0), sampleAt(frame)]
    ])
    path.stop()
    now = 95
    path.receive(bytesOf(2), undefined, undefined)
    expect(sent).toEqual([0, 35])
  })
})

describe("ReceivePath, while many calls are heard", () => {
  /** Delivers frames at the given times, with a tick every 20 ms from 0 on; gives when each was heard, and arrived. */
  const heardOf = (times: ReadonlyArray<number>, calls: Line["calls"], sizes: ReadonlyArray<number> = []) => {
    let now = 0
    const wheel = wheelFor(calls)
    const heard: Array<{ readonly first: number | undefined; readonly now: number; readonly at: number }> = []
    const path = new ReceivePath({
      format,
      codec: codecOf(format),
      wheel,
      now: () => now,
      onFrame: (samples, at) => heard.push({ first: samples[0], now, at })
    })
    const tickUntil = (time: number): void => {
      while (!wheel.idle && wheel.nextDue <= time) {
        now = wheel.nextDue
        wheel.tickDueSlots(now, () => now)
      }
      now = time
    }
    let sample = 0
    times.forEach((time, i) => {
      tickUntil(time)
      const samples = sizes[i] ?? frame
      const from = sample
      sample += samples
      path.receive(
        new Uint8Array(Int16Array.from({ length: samples }, (_, n) => sampleAt(from + n)).buffer),
        undefined,
        undefined
      )
    })
    tickUntil(now + 40)
    return heard
  }

  it("takes two frames at a time, each with its own time of arrival", () => {
    const heard = heardOf([0, 20, 40, 60, 80], "many")
    expect(heard.map(({ first }) => first)).toEqual([0, 1, 2, 3, 4].map((n) => sampleAt(n * frame)))
    expect(heard.map(({ now }) => now)).toEqual([0, 40, 40, 80, 80])
    expect(heard.map(({ at }) => at)).toEqual([-20, 0, 20, 40, 60])
  })

  it("takes each frame at once while few calls are heard", () => {
    expect(heardOf([0, 20, 40, 60], "few").map(({ now }) => now)).toEqual([0, 20, 40, 60])
  })

  it("takes a frame that nothing follows with a tick that comes 30 ms later at least", () => {
    const heard = heardOf([0, 20], "many")
    expect(heard.map(({ first }) => first)).toEqual([sampleAt(0), sampleAt(frame)])
    expect(heard[1]?.now).toBe(60)
  })

  it("takes audio in pieces of any length in order", () => {
    const heard = heardOf([0, 10, 20, 60, 80], "many", [80, 80, 320, 40, 280])
    expect(heard.map(({ first }) => first)).toEqual([0, 1, 2, 3, 4].map((n) => sampleAt(n * frame)))
  })

  it("hears silence after a line has stopped, 80 ms later at most", () => {
    let now = 0
    const wheel = wheelFor("many")
    const heard: Array<number> = []
    const path = new ReceivePath({
      format,
      codec: codecOf(format),
      wheel,
      now: () => now,
      onFrame: () => heard.push(now)
    })
    path.receive(bytesOf(0), undefined, undefined)
    while (now < 6500) {
      now = wheel.idle ? 6500 : wheel.nextDue
      wheel.tickDueSlots(now, () => now)
    }
    // One frame that was said, and 6 s of silence.
    expect(heard).toHaveLength(301)
    expect(heard[1]).toBeLessThanOrEqual(120)
  })
})

import { beforeAll, describe, expect, it } from "vitest"
import type { FvadPool } from "../src/FvadPool.ts"
import { SpeechDetector } from "../src/SpeechDetector.ts"
import { recordings } from "../src/testing/Recordings.ts"
import { louder, mix, type Signal, seeded, throughTelephone } from "../src/testing/Signal.ts"
import { fvad } from "./Fvad.ts"

const frameMs = 20
const callers = recordings("callers").filter(({ signal }) => signal.length > 6400)

let pool: FvadPool
beforeAll(async () => {
  pool = await fvad()
})
const open = (sampleRate = 8000) => new SpeechDetector(sampleRate, pool.open())

/** One second of silence, an utterance of a caller at -26 dBov, one second of silence; with the noise of a line. */
const call = (utterance: number): { readonly heard: Int16Array; readonly from: number; readonly to: number } => {
  const speech = louder(callers[utterance]?.signal ?? new Float32Array(), -26)
  const loud = (x: number) => Math.abs(x) > 300
  const signal = new Float32Array(speech.length + 16_000)
  signal.set(speech, 8000)
  const random = seeded(utterance)
  const line: Signal = signal.map(() => (random() - 0.5) * 40)
  return {
    heard: throughTelephone(mix(signal, line)),
    from: 8000 + speech.findIndex(loud),
    to: 8000 + speech.findLastIndex(loud)
  }
}

const framesOf = (samples: Int16Array, length: number): ReadonlyArray<Int16Array> =>
  Array.from({ length: Math.floor(samples.length / length) }, (_, i) => samples.subarray(i * length, (i + 1) * length))

const decide = (detector: SpeechDetector, samples: Int16Array, length = 160): ReadonlyArray<string> =>
  framesOf(samples, length).map((frame) => detector.push(frame))

/** The samples at a multiple of their rate, each repeated. */
const faster = (samples: Int16Array, factor: number): Int16Array =>
  Int16Array.from({ length: samples.length * factor }, (_, i) => samples[Math.floor(i / factor)] ?? 0)

describe("SpeechDetector", () => {
  it.each(callers.map(({ name }, i) => [name, i] as const))(
    "reports with lasted when speech began and ended: %s",
    (_, i) => {
      const { from, heard, to } = call(i)
      const detector = open()
      const changes: Array<{ readonly state: string; readonly at: number }> = []
      for (const [n, frame] of framesOf(heard, 160).entries()) {
        const state = detector.push(frame)
        if (state !== (changes.at(-1)?.state ?? "silence")) {
          changes.push({ state, at: (n + 1) * frameMs - detector.lasted(state) })
        }
      }
      const [first] = changes
      const last = changes.at(-1)
      expect([first?.state, last?.state]).toEqual(["speech", "silence"])
      expect(Math.abs((first?.at ?? 0) - from / 8)).toBeLessThanOrEqual(100)
      expect(Math.abs((last?.at ?? 0) - to / 8)).toBeLessThanOrEqual(140)
    }
  )

  it("counts silence from the start, and speech until its hangover is over", () => {
    const detector = open()
    expect([detector.lasted("silence"), detector.lasted("speech")]).toEqual([0, 0])
    decide(detector, new Int16Array(1600))
    expect([detector.lasted("silence"), detector.lasted("speech")]).toEqual([200, 0])
    const { heard } = call(0)
    let before = 0
    for (const frame of framesOf(heard, 160)) {
      const state = detector.push(frame)
      const lasted = detector.lasted("speech")
      if (state === "speech" && before > 0) expect(lasted).toBe(before + frameMs)
      before = state === "speech" ? lasted : 0
    }
  })

  it.each([
    ["digital silence", () => 0],
    ["a constant offset", () => 8000],
    ["full scale", (i: number) => (i % 2 === 0 ? 32_767 : -32_768)],
    ["a square wave at full scale", (i: number) => (i % 40 < 20 ? 32_767 : -32_768)],
    ["a tone", (i: number) => 12_000 * Math.sin(i * 0.4)]
  ])("does not take %s for speech", (_, sample) => {
    const detector = open()
    const decided = decide(
      detector,
      Int16Array.from({ length: 80_000 }, (_, i) => sample(i))
    )
    expect(decided.slice(16)).not.toContain("speech")
    expect(Number.isFinite(detector.lasted("silence"))).toBe(true)
  })

  it("takes tones that change without a pause for speech as long as they last", () => {
    const detector = open()
    const silence = new Float32Array(8000)
    const signal = new Float32Array(8000 + 160_000 + 8000)
    // Two tones for 60 ms each time, as the simulated voice speaks.
    const random = seeded(3)
    let tones: ReadonlyArray<number> = []
    for (let n = 0; n < 160_000; n++) {
      if (n % 480 === 0) tones = [400 + 100 * Math.floor(random() * 16), 2000 + 100 * Math.floor(random() * 16)]
      signal[silence.length + n] = tones.reduce(
        (sum, hertz) => sum + 7000 * Math.sin((2 * Math.PI * hertz * n) / 8000),
        0
      )
    }
    const states = decide(detector, throughTelephone(signal))
    const first = states.indexOf("speech")
    const last = states.lastIndexOf("speech")
    expect(first).toBeLessThanOrEqual(50 + 5)
    expect(last).toBeGreaterThanOrEqual(1049)
    expect(states.slice(first, last).filter((state) => state === "silence")).toEqual([])
    expect(states.at(-1)).toBe("silence")
  })

  it("finds speech after full scale noise and after a constant offset", () => {
    const random = seeded(3)
    for (const sample of [() => (random() - 0.5) * 65_535, () => 20_000]) {
      const detector = open()
      decide(detector, Int16Array.from({ length: 40_000 }, sample))
      decide(detector, new Int16Array(16_000))
      expect(decide(detector, call(0).heard)).toContain("speech")
    }
  })

  it.each([2, 3])("decides at 8000 Hz times %i as at 8000 Hz", (factor) => {
    const { heard } = call(1)
    const wanted = decide(open(), heard)
    const got = decide(open(8000 * factor), faster(heard, factor), 160 * factor)
    const differences = got.filter((state, i) => state !== wanted[i]).length
    expect(differences).toBeLessThanOrEqual(4)
  })

  it("decides the same however the audio is cut into frames", () => {
    const { heard } = call(2)
    const wanted = decide(open(), heard)
    for (const length of [1, 80, 159, 320, 1000]) {
      const detector = open()
      const got = decide(detector, heard, length)
      expect(got.filter((state) => state === "speech").length * length).toBeCloseTo(
        wanted.filter((state) => state === "speech").length * 160,
        -3.4
      )
      detector.push(new Int16Array())
    }
  })

  it("refuses a sample rate that is not a multiple of 8000 Hz", () => {
    expect(() => new SpeechDetector(11_025)).toThrow("a multiple of 8000 Hz, not 11025")
    expect(() => new SpeechDetector(0)).toThrow("multiple of 8000")
  })

  it("decides as ever when its veto is closed, or absent", () => {
    const { heard } = call(3)
    const detector = open()
    detector.close()
    detector.close()
    expect(decide(detector, heard)).toEqual(decide(new SpeechDetector(8000), heard))
  })
})

describe("FvadPool", () => {
  it("makes no more instances than are open at once, and one that is used again decides like a new one", async () => {
    const pool = await fvad()
    const { heard } = call(0)
    const ask = () => {
      const veto = pool.open()
      const answers = framesOf(heard, 160).map((frame) => veto.isSpeech(frame))
      veto.close()
      return answers
    }
    const first = ask()
    for (let i = 0; i < 10_000; i++) {
      const detector = new SpeechDetector(8000, pool.open())
      detector.push(heard.subarray(8000 + i, 8160 + i))
      detector.close()
    }
    expect(ask()).toEqual(first)
    expect(pool.size).toBe(1)
  })

  it("keeps instances that are open at once apart, also after the memory has grown", async () => {
    const pool = await fvad()
    const { heard } = call(4)
    const first = pool.open()
    const wanted = framesOf(heard, 160).map((frame) => first.isSpeech(frame))
    const all = Array.from({ length: 40_000 }, () => pool.open())
    const [second] = all
    expect(framesOf(heard, 160).map((frame) => second?.isSpeech(frame))).toEqual(wanted)
    for (const veto of [first, ...all]) veto.close()
    first.close()
    pool.open()
    expect(pool.size).toBe(40_001)
  })
})

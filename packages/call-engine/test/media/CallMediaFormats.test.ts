import type { AudioFormat } from "@svc/providers/Audio"
import { frameSamples } from "@svc/providers/Audio"
import { pcmToAlaw, pcmToMulaw } from "@svc/providers/G711"
import { describe, expect, it } from "vitest"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { FrameWheel } from "../../src/media/FrameWheel.ts"
import { frame, MediaBench } from "./MediaBench.ts"

describe("CallMedia, the caller's audio", () => {
  const bytes = (from: number, samples: number): Uint8Array =>
    new Uint8Array(Int16Array.from({ length: samples }, (_, i) => from + i).buffer)

  it("is passed on in 20 ms frames, however it arrives", () => {
    const b = new MediaBench()
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

  it("is heard in pairs beside many other calls, in order, and speech counts from when it came", () => {
    const b = new MediaBench({ pairFrom: 1 })
    const heardAt: Array<number> = []
    b.onFrame = () => heardAt.push(b.now)
    for (let n = 0; n < 9; n++) {
      b.speech = n >= 3
      b.media.receive(bytes(1 + n * frame, frame))
      b.run(1)
      if (n === 4) expect(b.late).toEqual([20])
    }
    expect(b.heard.flatMap((f) => [...f]).slice(0, 9 * frame)).toEqual(
      Array.from({ length: 9 * frame }, (_, i) => i + 1)
    )
    expect(heardAt.slice(0, 9)).toEqual([0, 40, 40, 80, 80, 120, 120, 160, 160])
  })

  it("calls onVoiceActivity once when the detector reports speech", () => {
    const b = new MediaBench()
    b.speech = true
    b.media.receive(bytes(1, 3 * frame))
    b.speech = false
    b.media.receive(bytes(1, 3 * frame))
    expect(b.log).toEqual(["voice", "quiet"])
  })

  it("is not speech after endOfTurn(), although the detector still reports speech", () => {
    const b = new MediaBench()
    b.speech = true
    b.media.receive(bytes(1, 3 * frame))
    b.media.endOfTurn()
    b.media.receive(bytes(1, 8 * frame))
    b.speech = false
    b.media.receive(bytes(1, frame))
    expect(b.log).toEqual(["voice", "quiet"])
    b.speech = true
    b.media.receive(bytes(1, frame))
    expect(b.log).toEqual(["voice", "quiet", "voice"])
  })

  it("is not speech when the detector finds it only after endOfTurn()", () => {
    const b = new MediaBench()
    b.media.receive(bytes(1, 10 * frame))
    b.media.endOfTurn()
    b.media.receive(bytes(1, 3 * frame))
    b.speech = true
    b.media.receive(bytes(1, 10 * frame))
    b.speech = false
    b.media.receive(bytes(1, 10 * frame))
    expect(b.log).toEqual([])
    b.speech = true
    b.media.receive(bytes(1, frame))
    expect(b.log).toEqual(["voice"])
  })

  it("is speech again after endOfTurn() when the caller keeps speaking", () => {
    const b = new MediaBench()
    b.speech = true
    b.media.receive(bytes(1, frame))
    b.media.endOfTurn()
    b.media.receive(bytes(1, 16 * frame))
    expect(b.log).toEqual(["voice", "quiet", "voice"])
  })

  it("allows endOfTurn() from within onFrame", () => {
    const b = new MediaBench()
    b.speech = true
    b.onFrame = () => b.media.endOfTurn()
    b.media.receive(bytes(1, 5 * frame))
    expect(b.log).toEqual(["voice", "quiet"])
  })
})

describe("CallMedia, the voice activity detector", () => {
  /** A call whose detector records what it is told. */
  const recorded = () => {
    const told: Array<string> = []
    let state: "speech" | "silence" = "silence"
    const late: Array<number> = []
    const media: CallMedia = new CallMedia({
      format: { encoding: "mulaw", sampleRate: 8000 },
      wheel: new FrameWheel(() => {}),
      now: () => 0,
      send: () => {},
      detector: {
        push: () => {
          told.push("heard")
          return state
        },
        lasted: () => 700,
        sent: (sent) => told.push(sent === undefined ? "sent nothing" : `sent ${sent[0]}`),
        close: () => told.push("closed")
      },
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: (_, ms) => late.push(ms),
        onStarted: () => {},
        onPlayed: () => {}
      }
    })
    return { media, told, late, say: (next: "speech" | "silence") => (state = next) }
  }

  it("is told what was sent in the same 20 ms, before each frame that was heard", () => {
    const { media, told } = recorded()
    media.receive(new Uint8Array(160).fill(0xff))
    expect(told).toEqual(["sent nothing", "heard"])
    media.begin("a", "x")
    media.write(Int16Array.from({ length: 160 }, () => 8031))
    media.receive(new Uint8Array(160).fill(0xff))
    expect(told.slice(2)).toEqual(["sent 7932", "heard"])
  })

  it("is closed once, when the call's audio ends, and is not asked afterwards", () => {
    const { media, told } = recorded()
    media.stop()
    media.stop()
    media.receive(new Uint8Array(160))
    media.endOfTurn()
    expect(told).toEqual(["closed"])
  })

  it("dates speech with lasted, but not to before the last end of turn", () => {
    const { late, media, say } = recorded()
    say("speech")
    media.receive(new Uint8Array(160))
    media.endOfTurn()
    media.receive(new Uint8Array(16 * 160))
    expect(late).toEqual([700, 700, 320])
  })
})

describe("CallMedia, each audio format", () => {
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
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
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
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: () => {},
        onPlayed: () => {}
      }
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

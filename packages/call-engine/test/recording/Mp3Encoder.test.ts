import { describe, expect, it } from "@effect/vitest"
import { type AudioFormat, mulaw8k } from "@svc/providers/Audio"
import { Deferred, Effect, Layer } from "effect"
import { FrameWheel } from "../../src/media/FrameWheel.ts"
import { Ticker } from "../../src/media/Ticker.ts"
import { type EncoderThread, layerOf, Mp3Encoder, type Mp3Listener } from "../../src/recording/Mp3Encoder.ts"
import type { FromEncoder, ToEncoder } from "../../src/recording/Mp3Messages.ts"
import { decode, mulawOf, silence, tone } from "../doubles/Sound.ts"

const Real = Mp3Encoder.layer.pipe(Layer.provide(Ticker.layer))

/** A listener that logs its calls. */
const recordingListener = (): Mp3Listener & { readonly log: Array<string>; readonly bytes: Array<Uint8Array> } => {
  const log: Array<string> = []
  const bytes: Array<Uint8Array> = []
  return {
    log,
    bytes,
    onBytes: (more) => {
      log.push("bytes")
      bytes.push(more)
    },
    onEnd: () => void log.push("end"),
    onFailed: (reason) => void log.push(reason)
  }
}

/** Encodes whole sides in blocks of a second. */
const encode = (format: AudioFormat, left: Uint8Array, right: Uint8Array, second: number) =>
  Effect.gen(function* () {
    const encoder = yield* Mp3Encoder
    const done = yield* Deferred.make<void, string>()
    const listener = recordingListener()
    const stream = encoder.open(format, {
      onBytes: listener.onBytes,
      onEnd: () => Deferred.unsafeDone(done, Effect.void),
      onFailed: (reason) => Deferred.unsafeDone(done, Effect.fail(reason))
    })
    for (let at = 0; at < left.length; at += second) {
      stream.write(left.slice(at, at + second), right.slice(at, at + second))
    }
    stream.end(new Uint8Array(0), new Uint8Array(0))
    yield* Deferred.await(done)
    return Buffer.concat(listener.bytes)
  })

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(parts))

describe("the encoder thread", () => {
  it.scoped("makes a stereo MP3 with each side on its channel, on time", () =>
    Effect.gen(function* () {
      const left = joined(mulawOf(tone(440, 2)), silence(3))
      const right = joined(silence(1), mulawOf(tone(1000, 1)), silence(3))
      const file = yield* encode(mulaw8k, left, right, 8000)
      // Two channels of telephone audio at 32 kbit/s.
      expect(file.length / 5).toBeGreaterThan(3900)
      expect(file.length / 5).toBeLessThan(4300)
      const heard = yield* decode(file)
      expect(heard.length).toBeCloseTo(5, 0)
      expect(heard.tone("left", 440, 0.1, 1.9)).toBeCloseTo(0.3, 1)
      expect(heard.loudness("left", 2.1, 4.9)).toBeLessThan(0.002)
      expect(heard.loudness("right", 0.1, 0.9)).toBeLessThan(0.002)
      expect(heard.tone("right", 1000, 1.1, 1.9)).toBeCloseTo(0.3, 1)
      expect(heard.tone("right", 440, 0.1, 1.9)).toBeLessThan(0.002)
    }).pipe(Effect.provide(Real))
  )

  it.scoped("encodes every leg format and many recordings at once, without mixing them", () =>
    Effect.gen(function* () {
      const formats: ReadonlyArray<AudioFormat> = [
        { encoding: "pcm16", sampleRate: 8000 },
        { encoding: "pcm16", sampleRate: 16000 },
        { encoding: "pcm16", sampleRate: 24000 }
      ]
      yield* Effect.forEach(
        [...formats, ...formats, ...formats, ...formats, ...formats, ...formats, ...formats],
        (format, index) =>
          Effect.gen(function* () {
            const hz = 300 + 50 * index
            const left = new Uint8Array(tone(hz, 3, format.sampleRate).buffer)
            const file = yield* encode(format, left, new Uint8Array(left.length), 2 * format.sampleRate)
            const heard = yield* decode(file)
            expect(heard.sampleRate).toBe(format.sampleRate)
            expect(heard.tone("left", hz, 1, 2)).toBeCloseTo(0.3, 1)
            expect(heard.loudness("right", 1, 2)).toBeLessThan(0.002)
          }),
        { concurrency: "unbounded", discard: true }
      )
    }).pipe(Effect.provide(Real))
  )
})

/** A thread and a clock that the test controls. */
class FakeThread implements EncoderThread {
  readonly sent: Array<ToEncoder> = []
  terminated = false
  answer: (message: FromEncoder) => void = () => {}
  die: (reason: string) => void = () => {}
  postMessage(message: ToEncoder): void {
    this.sent.push(message)
  }
  onMessage(handler: (message: FromEncoder) => void): void {
    this.answer = handler
  }
  onExit(handler: (reason: string) => void): void {
    this.die = handler
  }
  terminate(): void {
    this.terminated = true
  }
}

const fake = () => {
  const threads: Array<FakeThread> = []
  const time = { now: 0 }
  const ticker = Layer.succeed(Ticker, { wheel: new FrameWheel(() => {}), now: () => time.now, stalled: () => 0 })
  const layer = layerOf(() => {
    const thread = new FakeThread()
    threads.push(thread)
    return thread
  }).pipe(Layer.provide(ticker))
  return { threads, time, layer }
}

const block = () => silence(1)
/** Waits until the written blocks have been posted to the thread. */
const handedOver = Effect.promise(() => Promise.resolve())

describe("an encoder thread that fails", () => {
  it.scoped("by exiting fails the recordings in progress; a later recording gets a new thread after a pause", () => {
    const { layer, threads, time } = fake()
    return Effect.gen(function* () {
      const encoder = yield* Mp3Encoder
      const [one, two, three, four] = [
        recordingListener(),
        recordingListener(),
        recordingListener(),
        recordingListener()
      ]
      const stream = encoder.open(mulaw8k, one)
      encoder.open(mulaw8k, two)
      expect(threads.length).toBe(1)
      threads[0]?.die("out of memory")
      threads[0]?.die("exit")
      expect([one.log, two.log]).toEqual([["out of memory"], ["out of memory"]])
      stream.write(block(), block())
      stream.end(block(), block())
      encoder.open(mulaw8k, three)
      yield* handedOver
      expect(three.log).toEqual(["the encoder has just failed and is not restarted yet"])
      expect(threads.length).toBe(1)
      time.now = 6_000
      encoder.open(mulaw8k, four).write(block(), block())
      yield* handedOver
      expect([four.log, threads.length, threads[1]?.sent.length]).toEqual([[], 2, 1])
    }).pipe(Effect.provide(layer))
  })

  it.scoped("by being slow fails only the recordings with too many queued blocks", () => {
    const { layer, threads, time } = fake()
    return Effect.gen(function* () {
      const encoder = yield* Mp3Encoder
      const [slow, fine] = [recordingListener(), recordingListener()]
      const streams = [encoder.open(mulaw8k, slow), encoder.open(mulaw8k, fine)]
      for (let second = 0; second < 40; second++) {
        time.now = second * 1000
        for (const stream of streams) stream.write(block(), block())
        threads[0]?.answer({ _tag: "Encoded", id: 1, bytes: new Uint8Array(1), last: false })
      }
      yield* handedOver
      expect(slow.log).toEqual(["the encoder is too slow"])
      expect(fine.log).toEqual(new Array(40).fill("bytes"))
    }).pipe(Effect.provide(layer))
  })

  it.scoped("by hanging is terminated, and fails the recordings that wait for it", () => {
    const { layer, threads, time } = fake()
    return Effect.gen(function* () {
      const encoder = yield* Mp3Encoder
      const listeners = [recordingListener(), recordingListener(), recordingListener()]
      const streams = listeners.map((listener) => encoder.open(mulaw8k, listener))
      for (let second = 0; second < 25; second++) {
        time.now = second * 1000
        for (const stream of streams) stream.write(block(), block())
      }
      expect(listeners.map((listener) => listener.log)).toEqual(new Array(3).fill(["the encoder hangs"]))
      expect(threads[0]?.terminated).toBe(true)
    }).pipe(Effect.provide(layer))
  })

  it.scoped("gets blocks written together in one message, and none of a cancelled recording", () => {
    const { layer, threads } = fake()
    return Effect.gen(function* () {
      const encoder = yield* Mp3Encoder
      const listeners = [recordingListener(), recordingListener(), recordingListener()]
      const streams = listeners.map((listener) => encoder.open(mulaw8k, listener))
      for (const stream of streams) stream.write(block(), block())
      streams[1]?.cancel()
      yield* handedOver
      const sent = threads[0]?.sent ?? []
      const encoded = sent.flatMap((message) => (message._tag === "Encode" ? [message.blocks.map(({ id }) => id)] : []))
      expect(encoded).toEqual([[0, 2]])
      expect(sent.length).toBe(2)
    }).pipe(Effect.provide(layer))
  })
})

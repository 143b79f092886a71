import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { Clock, Effect, Layer, Option } from "effect"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { Ticker } from "../../src/media/Ticker.ts"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { Mp3Encoder } from "../../src/recording/Mp3Encoder.ts"
import { type CallRecording, keyOf, Recorder } from "../../src/recording/Recorder.ts"
import { until } from "../doubles/Engine.ts"
import { MemoryStore } from "../doubles/MemoryStore.ts"
import { decode, mulawOf, silence, tone } from "../doubles/Sound.ts"

/** The encoder, with a count of the blocks it has not answered: virtual time does not wait for a thread. */
const counted = (unanswered: { blocks: number }) =>
  Layer.effect(
    Mp3Encoder,
    Effect.map(Mp3Encoder, ({ open }) => ({
      open: (format, listener) => {
        const stream = open(format, {
          ...listener,
          onBytes: (bytes) => {
            unanswered.blocks--
            listener.onBytes(bytes)
          }
        })
        return {
          ...stream,
          write: (left, right) => {
            unanswered.blocks++
            stream.write(left, right)
          }
        }
      }
    }))
  ).pipe(Layer.provide(Mp3Encoder.layer))

/** A recorder in virtual time, with the real encoder and a store in memory. */
const bench = () => {
  const store = new MemoryStore()
  const unanswered = { blocks: 0 }
  const layer = Recorder.layer.pipe(
    Layer.provide(Layer.merge(counted(unanswered), store.layer)),
    Layer.provideMerge(VirtualTime.layer(0))
  )
  return { store, unanswered, layer }
}

/** A call's media on the virtual clock, without a caller. */
const mediaOf = (recording: CallRecording) =>
  Effect.map(Ticker, ({ now, wheel }) => {
    const media = new CallMedia({
      format: mulaw8k,
      wheel,
      now,
      send: () => {},
      detector: { push: () => "silence" },
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: () => {},
        onPlayed: () => {}
      }
    })
    media.record(recording)
    return media
  })

/** The caller speaks in real time, 20 ms after 20 ms. */
const speak = (media: CallMedia, audio: Uint8Array) =>
  Effect.gen(function* () {
    for (let at = 0; at < audio.length; at += 160) {
      yield* Effect.sleep("20 millis")
      media.receive(audio.subarray(at, at + 160))
    }
  })

const ended = (recording: CallRecording) =>
  Effect.gen(function* () {
    recording.stop()
    expect(yield* recording.stored).toBe(true)
  })

describe("a recording", () => {
  it.live("has the caller left and the agent right, as played and on time, across silence and a barge-in", () => {
    const { layer, store } = bench()
    return Effect.scoped(
      Effect.gen(function* () {
        const time = yield* VirtualTime
        const recorder = yield* Recorder
        const recording = recorder.begin("call_a", mulaw8k)
        expect(recorder.isWriting(keyOf("call_a"))).toBe(true)
        const media = yield* mediaOf(recording)
        // 1 to 3: the agent; 2 to 3.5: the caller, who interrupts at 3 and is then silent without frames.
        yield* Effect.fork(
          Effect.gen(function* () {
            yield* Effect.sleep("1 second")
            media.begin("u1", "")
            media.write(tone(440, 2))
            media.write(tone(440, 2))
            media.end()
            yield* Effect.sleep("2 seconds")
            media.clear()
            yield* Effect.sleep("5 seconds")
            media.begin("u2", "")
            media.write(tone(600, 1))
            media.end()
          })
        )
        yield* Effect.fork(Effect.zipRight(Effect.sleep("2 seconds"), speak(media, mulawOf(tone(1000, 1.5)))))
        yield* time.advance("10 seconds")
        yield* ended(recording)
        expect(recording.seconds()).toBe(10)
        expect(recorder.isWriting(keyOf("call_a"))).toBe(false)
        const heard = yield* decode(store.objects.get(keyOf("call_a")) ?? new Uint8Array(0))
        expect(heard.length).toBeGreaterThan(9.8)
        const at = (side: "left" | "right", hz: number, from: number, to: number, strength: number) =>
          expect([side, hz, from, Math.round(heard.tone(side, hz, from, to) * 20) / 20]).toEqual([
            side,
            hz,
            from,
            strength
          ])
        // Each to a twentieth of a second.
        expect(heard.loudness("right", 0, 0.95)).toBeLessThan(0.003)
        at("right", 440, 1.05, 1.5, 0.3)
        at("right", 440, 2.5, 2.95, 0.3)
        expect(heard.loudness("right", 3.05, 7.95)).toBeLessThan(0.003)
        at("right", 600, 8.05, 8.95, 0.3)
        expect(heard.loudness("right", 9.05, 9.6)).toBeLessThan(0.003)
        expect(heard.loudness("left", 0, 1.95)).toBeLessThan(0.003)
        at("left", 1000, 2.05, 2.5, 0.3)
        at("left", 1000, 3, 3.45, 0.3)
        expect(heard.loudness("left", 3.55, 9.6)).toBeLessThan(0.003)
      }).pipe(Effect.provide(layer))
    )
  })

  it.live(
    "of half an hour takes no more memory than one of minutes, and is in sync at its end",
    () => {
      const { layer, unanswered, store } = bench()
      setFlagsFromString("--expose-gc")
      const collect: () => void = runInNewContext("gc")
      const used = Effect.sync(() => {
        collect()
        const { arrayBuffers, heapUsed } = process.memoryUsage()
        // The in-memory store belongs to the test and is not measured.
        return arrayBuffers + heapUsed - [...store.parts.values()].flat().reduce((sum, { length }) => sum + length, 0)
      })
      return Effect.scoped(
        Effect.gen(function* () {
          const time = yield* VirtualTime
          const recording = (yield* Recorder).begin("call_b", mulaw8k)
          const media = yield* mediaOf(recording)
          const [left, quiet] = [mulawOf(tone(1000, 1)), silence(1)]
          const right = tone(440, 1)
          let second = 0
          yield* Effect.fork(
            Effect.forever(
              Effect.suspend(() => {
                // Every tenth second both speak.
                const speaks = second++ % 10 === 0
                if (speaks) {
                  media.begin(String(second), "")
                  media.write(right)
                  media.end()
                }
                return speak(media, speaks ? left : quiet)
              })
            )
          )
          const marks: Array<number> = []
          for (let minute = 0; minute < 30; minute++) {
            for (let part = 0; part < 6; part++) {
              yield* time.advance("10 seconds")
              yield* until(
                Effect.sync(() => unanswered.blocks),
                (blocks) => blocks < 3
              ).pipe(Effect.withClock(Clock.make()))
            }
            if (minute % 5 === 4) marks.push(yield* used)
          }
          yield* ended(recording)
          expect((marks.at(-1) ?? 0) - (marks[0] ?? 0)).toBeLessThan(3_000_000)
          const heard = yield* decode(store.objects.get(keyOf("call_b")) ?? new Uint8Array(0))
          for (const from of [0, 600, 1790]) {
            expect(heard.tone("left", 1000, from + 0.1, from + 0.9)).toBeCloseTo(0.3, 1)
            expect(heard.tone("right", 440, from + 0.1, from + 0.9)).toBeCloseTo(0.3, 1)
            expect(heard.loudness("left", from + 1.1, from + 9.4)).toBeLessThan(0.003)
            expect(heard.loudness("right", from + 1.1, from + 9.4)).toBeLessThan(0.003)
          }
        }).pipe(Effect.provide(layer))
      )
    },
    180_000
  )

  it.live("ends where the store fails, and the call continues", () =>
    Effect.forEach(["fails", "hangs"] as const, (fault) => {
      const { layer, unanswered, store } = bench()
      return Effect.scoped(
        Effect.gen(function* () {
          const time = yield* VirtualTime
          const recorder = yield* Recorder
          const failures: Array<string> = []
          const recording = recorder.begin("call_c", mulaw8k, (reason) => failures.push(reason))
          const media = yield* mediaOf(recording)
          yield* Effect.fork(Effect.forever(speak(media, mulawOf(tone(1000, 1)))))
          const encoded = until(
            Effect.sync(() => unanswered.blocks < 3 || !recorder.isWriting(keyOf("call_c"))),
            (done) => done
          ).pipe(Effect.withClock(Clock.make()))
          yield* Effect.repeatN(Effect.zipRight(time.advance("10 seconds"), encoded), 1)
          store.appending = fault
          yield* Effect.repeatN(Effect.zipRight(time.advance("10 seconds"), encoded), 5)
          expect(yield* recording.stored).toBe(false)
          expect(recorder.isWriting(keyOf("call_c"))).toBe(false)
          const seconds = recording.seconds()
          expect(seconds).toBeGreaterThan(15)
          expect(seconds).toBeLessThan(70)
          expect(failures).toEqual([expect.stringContaining(`the recording ends after ${Math.round(seconds)} s: `)])
          yield* time.advance("10 seconds")
          recording.stop()
          expect(recording.seconds()).toBe(seconds)
          // The bytes written before that remain for `recover`.
          const kept = yield* store.service.recover(keyOf("call_c"))
          expect(Option.getOrElse(kept, () => 0)).toBeGreaterThan(10 * 4000)
        }).pipe(Effect.provide(layer))
      )
    })
  )
})

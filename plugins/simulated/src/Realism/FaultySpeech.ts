import type { TextRequest } from "@svc/providers/SpeechTurn"
import { type AudioSink, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { Effect, FiberSet } from "effect"
import type { TtsRealism } from "./Realism.ts"
import type { Seeded } from "./Seeded.ts"

/** The longest chunk of a burst, in samples. */
const longestChunk = 3001

/** Writes samples as they are, with alignment before, and waits for nothing. */
const burstSink = (sink: AudioSink, random: Seeded) => {
  let pcm: Array<Int16Array> = []
  const marks: Array<readonly [characters: number, atSample: number]> = []
  const gathered: AudioSink = {
    write: (samples) => {
      pcm.push(samples)
      return true
    },
    align: (characters, atSample) => void marks.push([characters, atSample]),
    drained: Effect.void
  }
  const flush = Effect.sync(() => {
    const length = pcm.reduce((sum, samples) => sum + samples.length, 0)
    const all = new Int16Array(length)
    let filled = 0
    for (const samples of pcm) {
      all.set(samples, filled)
      filled += samples.length
    }
    pcm = []
    for (let at = 0; at < length; ) {
      // Odd, so that no chunk is whole frames, and of no use to one who expects these.
      const end = Math.min(length, at + 1 + 2 * random.below(longestChunk >> 1))
      sink.write(all.slice(at, end))
      at = end
      for (let mark = marks[0]; mark !== undefined && mark[1] <= at; mark = marks[0]) {
        marks.shift()
        sink.align(...mark)
      }
    }
  })
  return { sink: gathered, flush }
}

/** Noise of all levels, and alignment that goes back, or beyond the text. Every third text has values of wrong types. */
const garbage = ({ sink, text }: TextRequest, random: Seeded, n: number): void => {
  const noise = (length: number) => Int16Array.from({ length }, () => Math.round(65_535 * (random.next() - 0.5)))
  sink.align(text.length * 100, 7)
  for (let chunk = 0; chunk < 40; chunk++) {
    sink.write(noise([0, 1, 1 + 2 * random.below(400)][chunk % 3] ?? 0))
    sink.align(random.below(2 * text.length + 1), random.below(1_000_000))
  }
  if (n % 3 !== 0) return
  // What plain JavaScript may hand over; the contract's types forbid it.
  const wrong: unknown = Float32Array.from({ length: 161 }, (_, i) => (i % 2 === 0 ? Number.NaN : 1e9))
  sink.align(Number.NaN, -1)
  sink.write(wrong as Int16Array)
}

/**
 * The speech of one turn with the realism of the call. `speak` is ideal speech. `countText` counts the texts of the call.
 */
export const faultySpeech = (options: {
  readonly realism: TtsRealism
  readonly random: Seeded
  readonly countText: () => number
  readonly speak: (request: TextRequest) => Effect.Effect<void, TextToSpeechError>
}): ((request: TextRequest) => Effect.Effect<void, TextToSpeechError>) => {
  const { countText, random, realism, speak } = options
  const { burst, fail, first_byte_ms = 0, late_align_ms = 0 } = realism
  let isFirst = true

  const speakInBurst = (request: TextRequest) =>
    Effect.suspend(() => {
      const { flush, sink } = burstSink(request.sink, random)
      return Effect.zipRight(speak({ ...request, sink }), flush)
    })
  const speakAs = burst === true ? speakInBurst : speak

  /** The alignment is passed on later, in order; the text is spoken when it was. */
  const alignLate = (request: TextRequest) =>
    Effect.scoped(
      Effect.gen(function* () {
        const waiting = yield* FiberSet.make<void>()
        const run = yield* FiberSet.runtime(waiting)<never>()
        const align: AudioSink["align"] = (...mark) =>
          void run(
            Effect.zipRight(
              Effect.sleep(late_align_ms),
              Effect.sync(() => request.sink.align(...mark))
            )
          )
        yield* speakAs({ ...request, sink: { ...request.sink, align } })
        yield* FiberSet.awaitEmpty(waiting)
      })
    )

  return (request) =>
    Effect.suspend(() => {
      const wait = isFirst ? first_byte_ms : 0
      isFirst = false
      return wait > 0 ? Effect.sleep(wait) : Effect.void
    }).pipe(
      Effect.zipRight(
        Effect.suspend(() => {
          if (fail === "error") {
            return new TextToSpeechError({ reason: "the script tells text-to-speech to fail", retryable: false })
          }
          if (fail === "hang") return Effect.never
          if (fail === "garbage") return Effect.sync(() => garbage(request, random, countText()))
          return late_align_ms > 0 ? alignLate(request) : speakAs(request)
        })
      )
    )
}

import { Effect, type Scope } from "effect"
import {
  SpeechToTextError,
  type SpeechToTextOptions,
  type SpeechToTextSession,
  type SpokenWord
} from "./SpeechToText.ts"

/** Audio before the voice activity that belongs to a segment, in milliseconds: first sounds are quiet. */
const beforeMs = 300
/** Longest segment, in seconds; longer speech is cut. */
const maxSeconds = 30

/** What was said in a segment. Blank when nothing was. Times of words count from the beginning of the segment. */
export interface Transcript {
  readonly text: string
  /** 0..1. */
  readonly confidence: number
  readonly language?: string
  readonly words?: ReadonlyArray<SpokenWord>
}

/** A stretch of speech: PCM16 samples in the sample rate of `options`. */
export interface SpeechSegment {
  readonly samples: Int16Array
  readonly options: Omit<SpeechToTextOptions, "onEvent">
}

/** The segment that is being spoken: its samples, and where it begins in the audio of the session. */
interface Open {
  readonly from: number
  chunks: Array<Int16Array>
  length: number
}

const joined = ({ chunks, length }: Open): Int16Array => {
  const all = new Int16Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/**
 * The `open` of a provider that transcribes finished segments of speech, cut by the engine's voice activity. Segments are
 * transcribed one after the other, so that their words come in order; each becomes a `Final`. A segment that fails ends
 * the session. A provider made this way has `endpointing: "none"`.
 */
export const bySegments =
  (transcribe: (segment: SpeechSegment) => Effect.Effect<Transcript, SpeechToTextError>) =>
  (initial: SpeechToTextOptions): Effect.Effect<SpeechToTextSession, never, Scope.Scope> =>
    Effect.gen(function* () {
      const { onEvent } = initial
      let options: Omit<SpeechToTextOptions, "onEvent"> = initial
      const perMs = options.sampleRate / 1000
      let pushed = 0
      let recent: Array<Int16Array> = []
      let recentLength = 0
      let open: Open | undefined
      let isLive = true
      const waiting: Array<Effect.Effect<void>> = []
      const changed = Effect.unsafeMakeLatch()
      const idle = Effect.unsafeMakeLatch(true)

      const cut = () => {
        const segment = open
        open = undefined
        if (segment === undefined || segment.length === 0) return
        const from = segment.from / perMs
        const whole: SpeechSegment = { samples: joined(segment), options }
        const work = Effect.suspend(() => transcribe(whole)).pipe(
          Effect.catchAllDefect((defect) =>
            Effect.fail(new SpeechToTextError({ reason: `crashed: ${String(defect)}`, retryable: true }))
          ),
          Effect.matchEffect({
            onSuccess: ({ words, ...transcript }) =>
              Effect.sync(() => {
                if (!isLive || transcript.text.trim() === "") return
                const shifted = words?.map((word) => ({ ...word, start: from + word.start, end: from + word.end }))
                onEvent({ _tag: "Final", ...transcript, ...(shifted === undefined ? {} : { words: shifted }) })
              }),
            onFailure: (error) =>
              Effect.sync(() => {
                if (isLive) onEvent({ _tag: "Failed", error })
                isLive = false
              })
          })
        )
        waiting.push(work)
        idle.unsafeClose()
        changed.unsafeOpen()
      }
      const add = (segment: Open, samples: Int16Array) => {
        segment.chunks.push(samples)
        segment.length += samples.length
        if (segment.length < maxSeconds * options.sampleRate) return
        cut()
        open = { from: pushed, chunks: [], length: 0 }
      }
      const keep = (samples: Int16Array) => {
        recent.push(samples)
        recentLength += samples.length
        for (let first = recent[0]; first !== undefined; first = recent[0]) {
          if (recentLength - first.length < beforeMs * perMs) return
          recent.shift()
          recentLength -= first.length
        }
      }
      const work: Effect.Effect<never> = Effect.suspend(() => {
        const next = waiting.shift()
        if (next !== undefined) return Effect.zipRight(next, work)
        idle.unsafeOpen()
        changed.unsafeClose()
        return Effect.zipRight(changed.await, work)
      })
      yield* Effect.forkScoped(work)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isLive = false
        })
      )
      return {
        push: (samples) => {
          if (!isLive || samples.length === 0) return
          const copy = samples.slice()
          pushed += copy.length
          if (open === undefined) keep(copy)
          else add(open, copy)
        },
        flush: () => {
          if (open === undefined) return
          cut()
          open = { from: pushed, chunks: [], length: 0 }
        },
        update: (change) => {
          options = { ...options, ...change }
          return true
        },
        voiceActivity: (on) => {
          if (!isLive || on === (open !== undefined)) return
          if (!on) return cut()
          open = { from: pushed - recentLength, chunks: recent, length: recentLength }
          recent = []
          recentLength = 0
        },
        finish: Effect.suspend(() => {
          cut()
          return idle.await
        }).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              isLive = false
            })
          )
        )
      }
    })

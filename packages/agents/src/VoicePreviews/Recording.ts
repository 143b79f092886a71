import { speakText } from "@svc/providers/SpeechTurn"
import { type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { Cause, type Context, Deferred, Duration, Effect, FiberId } from "effect"

/** Timeout of one synthesis. */
export const synthesisTimeout = Duration.seconds(15)
/** Longest recording, in seconds of sound. */
export const maxSeconds = 15

/** Samples below this peak (of 32767) cannot be heard. */
const inaudible = 64

const failed = (reason: string) => new TextToSpeechError({ reason, retryable: true })

const concatenated = (chunks: ReadonlyArray<Int16Array>, length: number): Int16Array => {
  const all = new Int16Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/**
 * The synthesized speech as PCM16 samples. One that takes longer than {@link synthesisTimeout}, speaks for longer than
 * {@link maxSeconds} seconds, or returns inaudible sound fails; the caller does not wait for one that does not stop.
 */
export const record = (
  speech: Context.Tag.Service<TextToSpeech>,
  request: {
    readonly text: string
    readonly voice: string
    readonly language: string
    readonly sampleRate: number
  }
): Effect.Effect<Int16Array, TextToSpeechError> =>
  Effect.suspend(() => {
    const maxSamples = maxSeconds * request.sampleRate
    const overflow = Deferred.unsafeMake<never, TextToSpeechError>(FiberId.none)
    const chunks: Array<Int16Array> = []
    let length = 0
    let open = true
    const sink = {
      write: (samples: Int16Array): boolean => {
        if (!open) return false
        length += samples.length
        if (length > maxSamples) {
          open = false
          Deferred.unsafeDone(overflow, Effect.fail(failed(`spoke for more than ${maxSeconds} s`)))
          return false
        }
        // The synthesizer may write into the same array again.
        chunks.push(samples.slice())
        return true
      },
      align: () => undefined,
      drained: Effect.suspend(() => (open ? Effect.void : Effect.never))
    }
    return Effect.suspend(() =>
      speakText(speech, { ...request, callId: "voice_preview", turn: "preview", speed: 1, sink })
    ).pipe(
      // Includes a plugin that interrupts itself, which must not interrupt the caller.
      Effect.catchAllCause((cause) => {
        const failure = Cause.failureOrCause(cause)
        return Effect.fail(
          failure._tag === "Left" ? failure.left : failed(`crashed: ${String(Cause.squash(failure.right))}`)
        )
      }),
      Effect.raceFirst(Deferred.await(overflow)),
      Effect.disconnect,
      Effect.timeoutFail({
        duration: synthesisTimeout,
        onTimeout: () => failed(`was not done within ${Duration.format(synthesisTimeout)}`)
      }),
      Effect.ensuring(
        Effect.sync(() => {
          open = false
        })
      ),
      Effect.flatMap(() => {
        const samples = concatenated(chunks, length)
        const audible = samples.some((sample) => Math.abs(sample) >= inaudible)
        return audible ? Effect.succeed(samples) : Effect.fail(failed("gave no sound"))
      })
    )
  })

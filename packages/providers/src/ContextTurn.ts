import { Clock, Data, Deferred, Duration, Effect, type Scope } from "effect"
import { monotonicMillis } from "./MonotonicTime.ts"
import type { RequestFailed } from "./RequestFailed.ts"
import * as StreamedAudio from "./StreamedAudio.ts"
import { type SpeechRequest, type SpeechTurn, TextToSpeechError } from "./TextToSpeech.ts"

/** A connection ended, or takes no more turns, before it gave any audio of this one: another connection may. */
export class ConnectionLost extends Data.TaggedError("ConnectionLost")<{ readonly reason: string }> {}

/** A turn at a vendor that calls it a context. Closing the scope in which it was opened cancels it there. */
export interface SpeechContext {
  /** Adds text. Synchronous; does not throw. */
  readonly say: (text: string) => void
  /** No text follows. Synchronous; does not throw. */
  readonly end: () => void
  /** Completes when it was ended and all its audio was pushed. */
  readonly finished: Effect.Effect<void, RequestFailed | ConnectionLost>
}

/** Time without audio after which a turn fails while some of its text is not spoken: less than the server waits for its plugins. */
const silence = Duration.seconds(8)

/**
 * The `open` of a text-to-speech provider that has contexts. `begin` is called at once, so that a connection is opened
 * while the model still writes, and once more when its connection was lost before it gave any audio. A turn without text
 * ends without audio.
 */
export const contextTurn: (
  request: SpeechRequest,
  begin: (
    audio: StreamedAudio.StreamedAudio
  ) => Effect.Effect<SpeechContext, RequestFailed | ConnectionLost, Scope.Scope>
) => Effect.Effect<SpeechTurn, never, Scope.Scope> = Effect.fnUntraced(function* (request, begin) {
  const clock = yield* Clock.clockWith(Effect.succeed)
  const now = () => monotonicMillis(clock)
  const texts: Array<string> = []
  let characters = 0
  let isEnded = false
  let hasText = false
  let saidAt = 0
  let [heard, heardAt, heardWhenSaid] = [0, 0, 0]
  const changed = Effect.unsafeMakeLatch()
  const emptied = yield* Deferred.make<void>()
  const done = yield* Deferred.make<void, TextToSpeechError>()
  const audio = yield* StreamedAudio.make(request.sink)

  const attempt = Effect.flatMap(
    Effect.suspend(() => begin(audio)),
    (context) => {
      let at = 0
      const feed: Effect.Effect<never> = Effect.suspend(() => {
        for (; at < texts.length; at++) context.say(texts[at] ?? "")
        if (isEnded) {
          context.end()
          return Effect.never
        }
        changed.unsafeClose()
        return Effect.zipRight(changed.await, feed)
      })
      return Effect.raceFirst(feed, context.finished)
    }
  ).pipe(
    Effect.scoped,
    Effect.retry({ times: 1, while: ({ _tag }) => _tag === "ConnectionLost" && audio.pushed() === 0 })
  )
  const silent: Effect.Effect<never, TextToSpeechError> = Effect.suspend(() => {
    if (audio.pushed() !== heard) [heard, heardAt] = [audio.pushed(), now()]
    const isDue = hasText && (isEnded || heard === heardWhenSaid)
    const left = isDue ? Math.max(saidAt, heardAt) + Duration.toMillis(silence) - now() : Duration.toMillis(silence)
    return left > 0
      ? Effect.zipRight(Effect.sleep(Duration.millis(Math.ceil(left))), silent)
      : new TextToSpeechError({ reason: `the vendor gave no audio for ${Duration.format(silence)}`, retryable: true })
  })
  const failed = (failure: RequestFailed | ConnectionLost) =>
    new TextToSpeechError({
      reason: failure.reason,
      retryable: failure._tag === "ConnectionLost" || failure.retryable
    })
  const spoken = Effect.raceFirst(Effect.mapError(attempt, failed), Effect.raceFirst(silent, Deferred.await(emptied)))
  yield* spoken.pipe(
    Effect.tapErrorCause(() => Effect.sync(audio.stop)),
    Effect.zipRight(Effect.suspend(() => audio.finish(characters))),
    (work) => Deferred.complete(done, work),
    Effect.forkScoped
  )
  // Before the fiber ends, which may take a moment.
  yield* Effect.addFinalizer(() => Effect.sync(audio.stop))
  return {
    say: (text) => {
      texts.push(text)
      // White space is not spoken.
      if (text.trim() !== "") [hasText, saidAt, heardWhenSaid] = [true, now(), audio.pushed()]
      characters += text.length
      changed.unsafeOpen()
    },
    end: () => {
      if (isEnded) return
      isEnded = true
      saidAt = now()
      if (!hasText) Deferred.unsafeDone(emptied, Effect.void)
      changed.unsafeOpen()
    },
    done: Deferred.await(done)
  }
})

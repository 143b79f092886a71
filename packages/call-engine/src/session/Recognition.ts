import type { CommandOf } from "@svc/conversation/Command"
import type { SpeechEvent, SpeechToText, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Deferred, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"

/** Frames kept while the recognizer is being opened: one second, and of who is not listened to at once seven more. */
const backlogFrames = 50
const longBacklogFrames = 400

/** The ears of a call: feeds the caller's frames to a recognizer. */
export interface Ears {
  /** Opens a recognizer, in place of a former one. */
  readonly listen: (how: Omit<CommandOf<"Listen">, "_tag">) => void
  /** One frame; synchronous. What comes before the first `listen` is only heard `fromTheStart`. */
  readonly hear: (frame: Int16Array) => void
  /** No more is heard: the recognizer, also one that is still being opened, gives its last words; then `onFinished`. */
  readonly finish: () => void
  /** Closes the recognizer; nothing is told any more. */
  readonly close: () => void
}

export const make = (options: {
  readonly callId: string
  /** In the order of preference. */
  readonly recognizers: ReadonlyArray<Context.Tag.Service<SpeechToText>>
  readonly sampleRate: number
  /** Also what is said before the first `listen` is to be heard. */
  readonly fromTheStart?: boolean
  readonly onEvent: (event: SpeechEvent) => void
  readonly onFailed: (reason: string) => void
  readonly onFinished: () => void
}): Effect.Effect<Ears, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    let session: SpeechToTextSession | undefined
    let backlog: Array<Int16Array> = []
    let epoch = 0
    let wanted = options.fromTheStart === true
    const longest = wanted ? longBacklogFrames : backlogFrames
    const finishing = yield* Deferred.make<void>()

    const open = ({ format, keyterms, language, provider = 0 }: Parameters<Ears["listen"]>[0]): Effect.Effect<void> =>
      Effect.suspend(() => {
        const mine = ++epoch
        session = undefined
        const recognizer = options.recognizers[provider]
        if (recognizer === undefined) return Effect.sync(() => options.onFailed("there is no such recognizer"))
        const opened = recognizer.open({
          callId: options.callId,
          language,
          sampleRate: options.sampleRate,
          format,
          keyterms,
          onEvent: (event) => {
            if (mine !== epoch) return
            if (event._tag === "Failed") options.onFailed(event.error.reason)
            else options.onEvent(event)
          }
        })
        return Effect.flatMap(opened, (ready) => {
          session = ready
          for (const frame of backlog) ready.push(frame)
          backlog = []
          return Effect.zipRight(Deferred.await(finishing), ready.finish)
        }).pipe(
          // Nothing is told after that, not even by a recognizer that goes on.
          Effect.tap(() =>
            Effect.sync(() => {
              epoch++
              session = undefined
              options.onFinished()
            })
          ),
          Effect.scoped,
          Effect.catchAllCause((cause) => Effect.sync(() => options.onFailed(reasonOf(cause))))
        )
      })

    return {
      listen: (how) => {
        wanted = true
        run(open(how))
      },
      finish: () => {
        if (wanted) Deferred.unsafeDone(finishing, Effect.void)
        else options.onFinished()
        wanted = false
      },
      hear: (frame) => {
        if (session !== undefined) session.push(frame)
        else if (wanted && backlog.length < longest) backlog.push(frame.slice())
      },
      close: () => {
        epoch++
        wanted = false
        session = undefined
        run(Effect.void)
      }
    }
  })

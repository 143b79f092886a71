import type { SpeechEvent, SpeechToText, SpeechToTextOptions, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"

/** Frames kept while the recognizer is being opened: one second. */
const backlogFrames = 50

/** How the caller is to be understood. */
export type Hearing = Pick<SpeechToTextOptions, "language" | "format" | "keyterms">

/** The ears of a call: feeds the caller's frames to a recognizer. */
export interface Ears {
  /** Opens a recognizer, in place of a former one. */
  readonly listen: (how: Hearing) => void
  /** One frame; synchronous. What comes before the first `listen` is not heard. */
  readonly hear: (frame: Int16Array) => void
}

export const make = (options: {
  readonly callId: string
  readonly recognizer: Context.Tag.Service<SpeechToText>
  readonly sampleRate: number
  readonly onEvent: (event: SpeechEvent) => void
  readonly onFailed: (reason: string) => void
}): Effect.Effect<Ears, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    let session: SpeechToTextSession | undefined
    let backlog: Array<Int16Array> = []
    let epoch = 0
    let wanted = false

    const open = ({ format, keyterms, language }: Hearing): Effect.Effect<void> =>
      Effect.suspend(() => {
        const mine = ++epoch
        session = undefined
        const opened = options.recognizer.open({
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
          return Effect.never
        }).pipe(
          Effect.scoped,
          Effect.catchAllCause((cause) => Effect.sync(() => options.onFailed(reasonOf(cause))))
        )
      })

    return {
      listen: (how) => {
        wanted = true
        run(open(how))
      },
      hear: (frame) => {
        if (session !== undefined) session.push(frame)
        else if (wanted && backlog.length < backlogFrames) backlog.push(frame.slice())
      }
    }
  })

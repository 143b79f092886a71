import type { CallUsage } from "@svc/api/calls/CallUsage"
import type { CommandOf } from "@svc/conversation/Command"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId, type Scope } from "effect"
import { CallMedia } from "../media/CallMedia.ts"
import type { PhoneServices } from "./PhoneServices.ts"
import * as SpeechOutput from "./SpeechOutput.ts"

/** What the agent says to the destination of a transfer before the caller is joined. */
export type AnnouncementText = NonNullable<CommandOf<"Transfer">["announcement"]>

/** An announcement that is being said to one leg. */
export interface Announcement {
  /** Takes an event of the leg. */
  readonly onEvent: (event: CallEvent) => void
  /** Completes when it was played, could not be said, or took too long. */
  readonly over: Effect.Effect<void>
  readonly used: () => CallUsage["tts"]
}

/** How long an announcement may take, in milliseconds. */
export const longestMs = 50_000

const id = "announcement"

/** Begins to say a text to a leg, whose own sound is not listened to. It ends with the scope. */
export const begin = (options: {
  readonly callId: string
  readonly leg: CallLeg
  readonly text: AnnouncementText
  /** The preferred voice of the call. */
  readonly voice: string
  readonly services: Pick<PhoneServices, "ticker" | "chooseVoice" | "resolveVoice" | "silence" | "speechCache">
}): Effect.Effect<Announcement, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { callId, leg, services, text } = options
    const { ticker } = services
    const over = Deferred.unsafeMake<void>(FiberId.none)
    const media: CallMedia = new CallMedia({
      format: leg.format,
      wheel: ticker.wheel,
      now: ticker.now,
      send: leg.send,
      leg: { marks: () => leg.marks ?? "none", mark: leg.mark, delayMs: leg.playoutDelayMs ?? 0 },
      aheadMs: leg.aheadMs,
      detector: { push: () => "silence" },
      listener: {
        onFrame: () => {},
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: () => {},
        onPlayed: () => Deferred.unsafeDone(over, Effect.void)
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => media.stop()))
    const speech = yield* SpeechOutput.make({
      callId,
      media,
      sampleRate: leg.format.sampleRate,
      chooseVoice: services.chooseVoice,
      cache: services.speechCache,
      onFailed: (_, reason) =>
        Deferred.unsafeDone(
          over,
          Effect.logWarning(`A transfer was not announced, because the voice failed: ${reason}`)
        ),
      now: ticker.now,
      silence: services.silence
    })
    speech.speak({
      ...text,
      _tag: "Speak",
      id,
      voice: services.resolveVoice(text.voice, text.language, options.voice)
    })
    return {
      onEvent: (event) => {
        if (event._tag === "Mark") media.confirm(event.name, event.outcome)
        else if (event._tag === "Media") media.suspend(!event.on)
      },
      over: Effect.asVoid(Effect.timeoutOption(Deferred.await(over), longestMs)),
      used: speech.used
    }
  })

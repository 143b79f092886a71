import { Beep } from "@svc/audio/Beep"
import type { CommandOf } from "@svc/conversation/Command"
import type { UntimedInput } from "@svc/conversation/Input"
import type { SpeechEvent } from "@svc/providers/SpeechToText"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { Effect, type Scope } from "effect"
import { CallMedia } from "../media/CallMedia.ts"
import type { CallRecording } from "../recording/Recorder.ts"
import type { Feed } from "./Feed.ts"
import { KeyPresses } from "./KeyPresses.ts"
import * as Ears from "./Recognition.ts"
import type { SessionServices } from "./SessionServices.ts"
import * as Speaker from "./SpeechOutput.ts"

/** An answered call leg with what hears and speaks on it. */
export interface Line {
  /** Opens a recognizer, in place of a former one. */
  readonly listen: Ears.Ears["listen"]
  /** Asks the recognizer for its last words. */
  readonly stopListening: () => void
  readonly speak: (command: CommandOf<"Speak">) => void
  /** Silences the agent at once, also what the network still holds, and tells what had been played. */
  readonly silence: () => void
  /** What happens on the leg comes in here. */
  readonly onLeg: (event: CallEvent) => void
  /** From now on, both sides go into the recording. */
  readonly record: (recording: CallRecording) => void
  /** Asks the network to hand the caller over; what it says to that is told. */
  readonly transfer: (destination: string) => void
  /** The caller is with somebody else: nothing is heard or spoken here any more. The leg stays, for its end. */
  readonly leave: () => void
  /** Ends the leg; nothing is spoken any more. */
  readonly hangup: CallLeg["hangup"]
}

/** How often at least it is told that the caller speaks on; well within the time after which a turn counts as over. */
const goingOnMs = 1500

/** Brings a leg to life; all of it ends with the scope. */
export const connect = (options: {
  readonly callId: string
  readonly leg: CallLeg
  readonly services: SessionServices
  readonly feed: Feed
  /** The call's time, in milliseconds. */
  readonly now: () => number
  /** Whether words that are not final yet would change anything. */
  readonly heedsPartial: () => boolean
  /** We placed the call: what is said before `listen` is heard too, and beeps are. */
  readonly isOutbound: boolean
  /** Whether a beep would change anything. */
  readonly heedsBeep: () => boolean
}): Effect.Effect<Line, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { callId, feed, leg, now, services } = options
    const { sampleRate } = leg.format
    const presses = new KeyPresses()
    let lastPartial = ""
    /** The words that were told last, and when: who speaks on and on is not done, however long no word is final. */
    let told = { text: "", at: 0 }
    const tellPartial = (text: string): void => {
      told = { text, at: now() }
      feed({ _tag: "CallerPartial", text })
    }
    let beep = options.isOutbound ? new Beep(sampleRate) : undefined

    const media = new CallMedia({
      format: leg.format,
      wheel: services.ticker.wheel,
      now: services.ticker.now,
      send: leg.send,
      detector: services.detector(sampleRate),
      listener: {
        onFrame: (frame) => {
          ears.hear(frame)
          if (beep === undefined) return
          if (!options.heedsBeep()) beep = undefined
          else if (beep.push(frame)) feed({ _tag: "BeepHeard" })
        },
        onVoice: (on, late) => feed({ _tag: on ? "CallerSpeechStarted" : "CallerSpeechStopped", late }),
        onStarted: (id) => {
          const voice = speaker.timesOf(id)
          feed(voice === undefined ? { _tag: "SpeechStarted", id } : { _tag: "SpeechStarted", id, voice })
        },
        onPlayed: (id) => feed({ _tag: "SpeechPlayed", id })
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => media.stop()))
    const speaker = yield* Speaker.make({
      callId,
      media,
      sampleRate,
      voiceFor: services.voiceFor,
      onFailed: (id, reason) => feed({ _tag: "SpeechFailed", id, reason }),
      now
    })

    const onSpeech = (event: SpeechEvent): void => {
      switch (event._tag) {
        case "SpeechStarted":
          // The voice detector is sooner.
          return
        case "Partial":
          lastPartial = event.text
          if (options.heedsPartial() || (lastPartial !== told.text && now() - told.at >= goingOnMs))
            tellPartial(lastPartial)
          return
        case "Final":
          lastPartial = ""
          told = { text: "", at: now() }
          feed({ _tag: "CallerFinal", text: event.text })
          return
        case "EndOfTurn":
          media.quiet()
          feed({ _tag: "CallerEndOfTurn" })
          return
      }
    }
    const ears = yield* Ears.make({
      callId,
      recognizers: services.providers.speechToText,
      sampleRate,
      fromTheStart: options.isOutbound,
      onEvent: onSpeech,
      onFailed: (reason) => feed({ _tag: "RecognizerFailed", reason }),
      onFinished: () => feed({ _tag: "RecognizerFinished" })
    })

    /** The other side is gone: what it heard and said until now is told first. */
    const gone = (how: UntimedInput): void => {
      if (lastPartial !== "") feed({ _tag: "CallerPartial", text: lastPartial })
      const cuts = speaker.stop()
      if (cuts.length > 0) feed({ _tag: "SpeechCleared", cuts: [...cuts] })
      feed(how)
    }

    const onLeg = (event: CallEvent): void => {
      switch (event._tag) {
        case "Audio":
          media.receive(event.payload)
          return
        case "Dtmf":
          if (presses.isNew(event.digit, event.source, now())) feed({ _tag: "Dtmf", digit: event.digit })
          return
        case "TransferProgress":
          feed({ _tag: "TransferProgressed", state: event.state, reason: event.reason ?? null })
          return
        case "Ended":
          gone(event.cause === "hangup" ? { _tag: "CallerHungUp" } : { _tag: "LegFailed", reason: event.reason ?? "" })
          return
      }
    }

    return {
      listen: ears.listen,
      stopListening: () => {
        // Should the recognizer hang, these words are the last.
        if (lastPartial !== "") feed({ _tag: "CallerPartial", text: lastPartial })
        ears.finish()
      },
      speak: speaker.speak,
      onLeg,
      silence: () => {
        const cuts = speaker.stop()
        leg.clear()
        feed({ _tag: "SpeechCleared", cuts: [...cuts] })
      },
      record: (recording) => media.record(recording),
      transfer: (destination) => {
        if (leg.transferBlind !== undefined) leg.transferBlind(destination)
        else
          feed({ _tag: "TransferProgressed", state: "failed", reason: "this telephone network cannot transfer calls" })
      },
      leave: () => {
        media.stop()
        ears.close()
      },
      hangup: (reason) => {
        leg.hangup(reason)
        speaker.stop()
        media.stop()
      }
    }
  })

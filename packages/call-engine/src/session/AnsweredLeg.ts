import type { CallUsage, LineFigures } from "@svc/api/calls/CallUsage"
import { BeepDetector } from "@svc/audio/BeepDetector"
import { DtmfDetector } from "@svc/audio/DtmfDetector"
import { QuietMeter } from "@svc/audio/QuietMeter"
import { SoundLevel } from "@svc/audio/SoundLevel"
import type { UntimedInput } from "@svc/conversation/Input"
import type * as Speculation from "@svc/conversation/machines/Speculation"
import { type Encoding, frameMs } from "@svc/providers/Audio"
import type { SpeechEvent } from "@svc/providers/SpeechToText"
import type { CallEvent, CallLeg } from "@svc/providers/Telephony"
import { Effect, type Scope } from "effect"
import { CallMedia } from "../media/CallMedia.ts"
import { DtmfDeduplicator } from "../media/DtmfDeduplicator.ts"
import type { CallRecording } from "../recording/Recorder.ts"
import type { Feed } from "./ConversationServices.ts"
import type { PhoneServices } from "./PhoneServices.ts"
import * as Recognition from "./Recognition.ts"
import * as SpeechOutput from "./SpeechOutput.ts"

/** The name that an encoding has on the network. */
const codecs: { readonly [E in Encoding]: LineFigures["codec"] } = { mulaw: "PCMU", alaw: "PCMA", pcm16: "L16" }

/** An answered call leg with its media, speech-to-text and text-to-speech. */
export interface AnsweredLeg {
  /** Opens speech-to-text, in place of a former session. */
  readonly listen: Recognition.Recognition["listen"]
  /** Asks speech-to-text for the rest of its transcript. */
  readonly stopListening: () => void
  /** Speaks. See {@link SpeechOutput.SpeechOutput}. */
  readonly speech: Pick<SpeechOutput.SpeechOutput, "speak" | "end" | "resume" | "drop">
  /** Stops the agent's speech at once, including audio that the network buffers, and feeds back what was played. */
  readonly stopSpeaking: (hold?: boolean) => void
  /** Takes the events of the leg. */
  readonly onEvent: (event: CallEvent) => void
  /** The conversation knows that the call is answered. Events from before were taken already. */
  readonly onAnswered: () => void
  /** From now on, both sides go into the recording. */
  readonly record: (recording: CallRecording) => void
  /** Sends keys to the other side. False: this leg cannot. */
  readonly pressKeys: (digits: string) => boolean
  /** The caller was transferred: stops hearing and speaking. The leg stays open until the hang-up. */
  readonly detach: () => void
  /** Ends the leg and all audio. */
  readonly hangup: CallLeg["hangup"]
  /** The line until now; also after the end. Figures of the leg come before those of the engine's jitter buffer. */
  readonly line: () => LineFigures
  /** What was used of text-to-speech and speech-to-text until now. */
  readonly used: () => Pick<CallUsage, "tts" | "stt">
}

/** A count of the network; null for one that no leg can have. */
const counted = (count: number | null | undefined): number | null =>
  count !== null && count !== undefined && count >= 0 && count <= Number.MAX_SAFE_INTEGER ? Math.round(count) : null

const tenths = (ms: number | null | undefined): number | null => {
  const tens = counted(ms === null || ms === undefined ? ms : ms * 10)
  return tens === null ? null : tens / 10
}

/** The longest id of a carrier that is kept, in characters. */
const maxCarrierId = 256

/** A carrier's id of a call, as the record has it. */
export const carrierIdOf = (id: string | undefined): string | null => id?.slice(0, maxCarrierId) ?? null

/**
 * The longest time between fed partials while the caller keeps speaking, in milliseconds; far below the end-of-turn
 * limit.
 */
const partialEveryMs = 1500

/**
 * The longest time for which a sound counts that goes on after its voice activity, in milliseconds: one that lasts is the
 * noise of the line.
 */
const steadySoundMs = 10_000

/** Connects a leg to the conversation; everything ends with the scope. */
export const connect = (options: {
  readonly callId: string
  readonly leg: CallLeg
  readonly services: PhoneServices
  readonly feed: Feed
  /** The call's time, in milliseconds. */
  readonly now: () => number
  /** Speech that was synthesized before the answer. */
  readonly prepared: SpeechOutput.PreparedSpeech | null
  /** Whether a partial would change a decision now. */
  readonly needsPartials: () => boolean
  /** How long words and line have to be still before the end of the turn is expected; null: it is not to be reported. */
  readonly pauseOf: () => Speculation.Pause | null
  /** Whether the agent goes on as soon as the caller makes no sound. */
  readonly awaitsSilence: () => boolean
  /** We placed the call: speech before `listen` is recognized too, and voicemail beeps are detected. */
  readonly isOutbound: boolean
  /** Whether a beep would change a decision now. */
  readonly needsBeep: () => boolean
  /** Whether it is not decided yet who took an outbound call. */
  readonly needsVerdict: () => boolean
}): Effect.Effect<AnsweredLeg, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { callId, feed, leg, now, services } = options
    const { sampleRate } = leg.format
    const digits = new DtmfDeduplicator()
    let lastPartial = ""
    /** The last partial that was fed, and when: partials show that the caller still speaks while no word is final. */
    let fed = { text: "", at: 0 }
    const feedPartial = (text: string): void => {
      fed = { text, at: now() }
      feed({ _tag: "CallerPartial", text })
    }
    let isVoiced = false
    const quiet = new QuietMeter()
    const level = new SoundLevel()
    /** Until when a sound counts whose voice activity has ended, and which goes on; undefined: there is none. */
    let soundUntil: number | undefined
    /** Feeds the end of the sound. While the agent waits for it, not before it is over. */
    const feedSpeechStopped = (late: number): void => {
      soundUntil = options.awaitsSilence() && level.ended(late) ? now() + steadySoundMs : undefined
      if (soundUntil === undefined) feed({ _tag: "CallerSpeechStopped", late })
    }
    const watchSound = (): void => {
      if (soundUntil === undefined || (level.goesOn && now() < soundUntil && options.awaitsSilence())) return
      soundUntil = undefined
      feed({ _tag: "CallerSpeechStopped" })
    }
    /** The words that are not final, and since when. `fed`: they were fed as the probable end of the turn. */
    let words = { text: "", since: 0, fed: false }
    const feedExpectedEnd = (): void => {
      words.fed = true
      if (words.text !== "") fed = { text: words.text, at: now() }
      feed({ _tag: "CallerEndExpected", text: words.text })
    }
    const watchPause = (): void => {
      // A sound goes on: cheaper than to ask how long a pause would have to be.
      if (words.text === "" || words.fed || (isVoiced && quiet.quietMs === 0)) return
      const pause = options.pauseOf()
      if (pause === null || now() - words.since < pause.stableMs) return
      if (!isVoiced || quiet.quietMs >= pause.quietMs) feedExpectedEnd()
    }
    const setWords = (text: string): void => {
      if (text !== words.text) words = { text, since: now(), fed: false }
    }
    /** The words so far, if the conversation does not have them: what follows may end the turn. */
    const feedLastPartial = (): void => {
      if (lastPartial !== "" && lastPartial !== fed.text) feedPartial(lastPartial)
      lastPartial = ""
    }
    const tones = leg.keyEvents === false ? new DtmfDetector(sampleRate) : undefined
    const onDigit = (digit: string, source: Parameters<typeof digits.isNew>[1]): void => {
      if (digits.isNew(digit, source, now())) feed({ _tag: "Dtmf", digit })
    }
    let beep = options.isOutbound ? new BeepDetector(sampleRate) : undefined
    /** The carrier's last verdict about who answered. */
    let verdict: Extract<CallEvent, { readonly _tag: "Answerer" }>["verdict"] | undefined
    const feedVerdict = (): void => {
      if (verdict !== undefined && options.needsVerdict()) feed({ _tag: "AnswererReported", verdict })
    }

    const media = new CallMedia({
      format: leg.format,
      wheel: services.ticker.wheel,
      now: services.ticker.now,
      send: leg.send,
      leg: { marks: () => leg.marks ?? "none", mark: leg.mark, delayMs: leg.playoutDelayMs ?? 0 },
      aheadMs: leg.aheadMs,
      detector: services.voiceActivity(sampleRate),
      listener: {
        onCleanFrame: (frame) => recognition.push(frame),
        onFrame: (frame, power) => {
          quiet.push(power)
          level.push(power)
          watchSound()
          watchPause()
          for (const digit of tones?.push(frame) ?? "") onDigit(digit, "in-band")
          if (beep === undefined) return
          if (!options.needsBeep()) beep = undefined
          else if (beep.push(frame)) feed({ _tag: "BeepHeard" })
        },
        onVoiceActivity: (on, late) => {
          recognition.voiceActivity(on)
          isVoiced = on
          if (!on) {
            feedLastPartial()
            feedSpeechStopped(late)
          } else if (soundUntil === undefined) feed({ _tag: "CallerSpeechStarted", late })
          // It is the same sound.
          else soundUntil = undefined
        },
        onStarted: (id) => {
          const voice = speech.timesOf(id)
          feed(voice === undefined ? { _tag: "SpeechStarted", id } : { _tag: "SpeechStarted", id, voice })
        },
        // Less than a frame is the time of the report itself.
        onPlayed: (id, late) =>
          feed({ _tag: "SpeechPlayed", id, ...(late < frameMs ? {} : { late: Math.round(late) }) })
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => media.stop()))
    const speech = yield* SpeechOutput.make({
      callId,
      media,
      sampleRate,
      chooseVoice: services.chooseVoice,
      cache: services.speechCache,
      prepared: options.prepared,
      onFailed: (id, reason) => feed({ _tag: "SpeechFailed", id, reason }),
      onWarning: (reason) => feed({ _tag: "ProviderWarned", stage: "text-to-speech", reason }),
      now,
      silence: services.silence
    })

    const onSpeech = (event: SpeechEvent): void => {
      switch (event._tag) {
        case "SpeechStarted":
          // The voice activity detector is faster.
          return
        case "EagerEndOfTurn":
          if (!words.fed && options.pauseOf() !== null) feedExpectedEnd()
          return
        case "TurnResumed":
          if (words.fed) feed({ _tag: "CallerEndWithdrawn" })
          words.fed = false
          return
        case "Partial":
          lastPartial = event.text
          setWords(event.text)
          // In silence the next thing may be the end of the turn.
          if (!isVoiced || options.needsPartials() || (lastPartial !== fed.text && now() - fed.at >= partialEveryMs))
            feedPartial(lastPartial)
          return
        case "Final":
          lastPartial = ""
          setWords("")
          fed = { text: "", at: now() }
          feed({
            _tag: "CallerFinal",
            text: event.text,
            ...(event.language === undefined ? {} : { language: event.language })
          })
          return
        case "EndOfTurn":
          media.endOfTurn()
          if (soundUntil !== undefined) soundUntil = now()
          watchSound()
          setWords("")
          feedLastPartial()
          feed({ _tag: "CallerEndOfTurn" })
          return
      }
    }
    const recognition = yield* Recognition.make({
      callId,
      providers: services.speechToText,
      format: leg.format,
      now,
      bufferBeforeListen: options.isOutbound,
      onEvent: onSpeech,
      onOpened: (endpointing) => feed({ _tag: "RecognizerOpened", endpointing }),
      onFailed: (reason, broke) => feed({ _tag: "RecognizerFailed", reason, ...(broke ? { broke } : {}) }),
      onFinished: () => feed({ _tag: "RecognizerFinished" })
    })

    /** The caller is gone: feeds the words spoken and the speech played until now, then the end. */
    const onEnded = (end: UntimedInput): void => {
      if (lastPartial !== "") feed({ _tag: "CallerPartial", text: lastPartial })
      const cuts = speech.stop()
      if (cuts.length > 0) feed({ _tag: "SpeechCleared", cuts: [...cuts] })
      feed(end)
    }

    const onEvent = (event: CallEvent): void => {
      switch (event._tag) {
        case "Audio":
          media.receive(event.payload, event.sequence, event.timestamp)
          return
        case "Media":
          media.suspend(!event.on)
          return
        case "Mark":
          media.confirm(event.name, event.outcome)
          return
        case "Answerer":
          if (event.verdict === verdict) return
          verdict = event.verdict
          feedVerdict()
          return
        case "Dtmf":
          onDigit(event.digit, event.source)
          return
        case "TransferProgress":
          feed({ _tag: "TransferProgressed", state: event.state, reason: event.reason ?? null })
          return
        case "Ended":
          onEnded(
            event.cause === "hangup" ? { _tag: "CallerHungUp" } : { _tag: "LegFailed", reason: event.reason ?? "" }
          )
          return
      }
    }

    return {
      listen: recognition.listen,
      stopListening: () => {
        // If speech-to-text hangs, these are the caller's last words.
        if (lastPartial !== "") feed({ _tag: "CallerPartial", text: lastPartial })
        recognition.finish()
      },
      speech,
      onEvent,
      // A verdict from before has waited for it.
      onAnswered: feedVerdict,
      stopSpeaking: (hold) => {
        const cuts = speech.stop(hold)
        leg.clear()
        feed({ _tag: "SpeechCleared", cuts: [...cuts] })
      },
      record: (recording) => media.record(recording),
      detach: () => {
        media.stop()
        recognition.close()
      },
      pressKeys: (digits) => {
        leg.sendDtmf?.(digits)
        return leg.sendDtmf !== undefined
      },
      hangup: (reason) => {
        leg.hangup(reason)
        speech.stop()
        media.stop()
      },
      line: () => {
        const quality = leg.quality?.() ?? media.quality
        return {
          carrier_call_id: carrierIdOf(leg.carrierCallId),
          codec: quality?.codec === undefined ? codecs[leg.format.encoding] : quality.codec,
          packets_lost: counted(quality?.packetsLost),
          packets_late: counted(quality?.packetsLate),
          jitter_ms: tenths(quality?.jitterMs)
        }
      },
      used: () => ({ tts: speech.used(), stt: { seconds: recognition.seconds() } })
    }
  })

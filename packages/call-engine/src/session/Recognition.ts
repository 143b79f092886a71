import { nearestRate, Resampler } from "@svc/audio/Resampler"
import type { CommandOf } from "@svc/conversation/Command"
import { type AudioFormat, frameMs } from "@svc/providers/Audio"
import type { SpeechEvent, SpeechToText, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Deferred, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"
import { HeardAudio } from "./HeardAudio.ts"
import { chooseRecognizer } from "./RecognizerChoice.ts"

/** Frames of silence that are kept, because quiet speech begins before voice activity is reported: 500 ms. */
const silentFrames = 25
/**
 * A final without the times of its words covers the speech until it came, and up to 100 ms after that, but not speech that
 * began less than 600 ms before it, after other speech.
 */
const restFrames = 5
const latestFrames = 30
/** Frames before the voice activity that belong to speech: 200 ms. */
const onsetFrames = 10
/** A session that breaks within `soonMs` is opened again after `pauseMs`, the first time at once. In milliseconds. */
const soonMs = 1000
const pauseMs = 1000

type ListenOptions = Omit<CommandOf<"Listen">, "_tag">

/**
 * The speech-to-text of a call: feeds the caller's frames to one session after another. What was heard and is not final
 * yet, up to 10 s, is kept, and each session gets it first, as fast as it takes it: so nothing is lost while a session
 * opens, or when it breaks.
 */
export interface Recognition {
  /** Opens a session, in place of a former one; or changes its language, where it can. */
  readonly listen: (options: ListenOptions) => void
  /** Takes one frame; synchronous. */
  readonly push: (frame: Int16Array) => void
  /** The caller started or stopped to speak with the frame that comes next; synchronous. */
  readonly voiceActivity: (on: boolean) => void
  /**
   * Takes no more frames: the session, even one still opening, emits the rest of its transcript, then calls
   * `onFinished`.
   */
  readonly finish: () => void
  /** Closes the session; no callback is called after that. */
  readonly close: () => void
  /** Seconds of audio that sessions got until now. */
  readonly seconds: () => number
}

/** A session that takes audio of another sample rate. */
const converted = (session: SpeechToTextSession, from: number, to: number): SpeechToTextSession => {
  const resampler = new Resampler(from, to)
  return {
    ...session,
    push: (frame) => session.push(resampler.push(frame)),
    finish: Effect.suspend(() => {
      session.push(resampler.end())
      return session.finish
    })
  }
}

export const make = (options: {
  readonly callId: string
  /** In the order of preference. Those that have the language come first. */
  readonly providers: ReadonlyArray<Context.Tag.Service<SpeechToText>>
  readonly format: AudioFormat
  /** The call's time, in milliseconds. */
  readonly now: () => number
  /** Whether frames before the first `listen` are recognized too. */
  readonly bufferBeforeListen?: boolean
  readonly onEvent: (event: SpeechEvent) => void
  /** A session is open whose endpointing differs from that of the provider with the index that was asked for. */
  readonly onOpened: (endpointing: "provider" | "none") => void
  readonly onFailed: (reason: string) => void
  readonly onFinished: () => void
}): Effect.Effect<Recognition, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    const { format: legFormat, now } = options
    const heard = new HeardAudio(legFormat)
    let session: SpeechToTextSession | undefined
    /** The frames that the session was given: from the first one, up to the next one. */
    let given = { first: 0, next: 0 }
    /** Counts sessions; events of an earlier one are ignored. */
    let epoch = 0
    /** How the session listens; it is set with the session. */
    let listening: ListenOptions | undefined
    /** Samples that sessions got, at the call's rate; what was pushed again counts again. */
    let pushed = 0
    const pushTo = (to: SpeechToTextSession, frame: Int16Array): void => {
      pushed += frame.length
      to.push(frame)
    }
    let isSpeaking = false
    /** The frame with which the caller began to speak, and the one after the last in which they spoke. */
    let speechBegan = 0
    let speechEnded = 0
    /** The frame after the last of the speech before that. */
    let spokenBefore = 0
    /** The frame up to which what is heard belongs to the last final, and the session that emitted it. */
    let finalUntil = 0
    let finalEpoch = 0
    /** There are words that are not final. */
    let isPartial = false
    let isListening = options.bufferBeforeListen === true
    /** When a session was asked for, and how many broke soon, one after the other. */
    let listenedAt = 0
    let brokeSoon = 0
    const finishing = yield* Deferred.make<void>()

    /** What was heard until now is final, in so far as it is known. */
    const settle = (wordsEnd: number | undefined): void => {
      isPartial = false
      const beganAfter = isSpeaking && given.next - speechBegan < latestFrames && spokenBefore > heard.start
      if (wordsEnd !== undefined) heard.forget(Math.min(given.next, given.first + Math.ceil(wordsEnd / frameMs)))
      else if (beganAfter) heard.forget(speechBegan - onsetFrames)
      else {
        finalUntil = given.next + restFrames
        finalEpoch = epoch
        heard.forget(Math.min(finalUntil, heard.end))
      }
    }

    const onFailed = (reason: string): void => {
      session = undefined
      brokeSoon = now() - listenedAt < soonMs ? brokeSoon + 1 : 0
      options.onFailed(reason)
    }

    const onEvent = (event: SpeechEvent): void => {
      if (event._tag === "Failed") onFailed(event.error.reason)
      else {
        if (event._tag === "Partial") isPartial = event.text !== ""
        else if (event._tag === "Final") settle(event.words?.at(-1)?.end ?? event.end)
        else if (event._tag === "EndOfTurn") settle(undefined)
        options.onEvent(event)
      }
    }

    /** Pushes what is not final yet. Its events may end the session. */
    const pushAgain = (ready: SpeechToTextSession, isOpen: () => boolean): void => {
      let was = false
      given = { first: heard.start, next: heard.start }
      while (given.next < heard.end && isOpen()) {
        const on = heard.isSpeech(given.next)
        if (on !== was) ready.voiceActivity?.(on)
        was = on
        pushTo(ready, heard.frame(given.next++))
      }
      if (isOpen() && isSpeaking !== was) ready.voiceActivity?.(isSpeaking)
    }

    const chosen = ({ language, provider }: ListenOptions) => chooseRecognizer(options.providers, language, provider)
    /** Reports how the session ends turns, where the conversation expects something else of the provider with this index. */
    const reportEndpointing = (session: SpeechToTextSession, how: ListenOptions): void => {
      const endpointing = session.endpointing ?? chosen(how)?.capabilities.endpointing
      const expected = options.providers[how.provider ?? 0]?.capabilities.endpointing
      if (endpointing !== undefined && endpointing !== expected) options.onOpened(endpointing)
    }
    /** Changes the language of the open session, so that nothing of what the caller says now is lost. */
    const changeLanguage = (how: ListenOptions): boolean => {
      if (session === undefined || listening === undefined || listening.language === how.language) return false
      if (chosen(listening) !== chosen(how) || listening.format !== how.format) return false
      if (session.update?.({ language: how.language, keyterms: how.keyterms }) !== true) return false
      listening = how
      reportEndpointing(session, how)
      return true
    }

    const open = (how: ListenOptions, isOpen: () => boolean) =>
      Effect.suspend((): Effect.Effect<void> => {
        const { format, keyterms, language } = how
        const stt = chosen(how)
        if (stt === undefined) return Effect.sync(() => onFailed("there is no such speech-to-text provider"))
        const sampleRate = nearestRate(legFormat.sampleRate, stt.capabilities.sampleRates)
        const opened = stt.open({
          callId: options.callId,
          language,
          sampleRate,
          format,
          keyterms,
          onEvent: (event) => {
            if (isOpen()) onEvent(event)
          }
        })
        const openNow = Effect.suspend(() => {
          listenedAt = now()
          return opened
        })
        return Effect.flatMap(brokeSoon > 1 ? Effect.delay(openNow, pauseMs) : openNow, (own) => {
          const ready = sampleRate === legFormat.sampleRate ? own : converted(own, legFormat.sampleRate, sampleRate)
          reportEndpointing(own, how)
          session = ready
          listening = how
          pushAgain(ready, () => session === ready)
          return Effect.zipRight(Deferred.await(finishing), ready.finish)
        }).pipe(
          // Events after this are ignored, even if the provider goes on.
          Effect.tap(() =>
            Effect.sync(() => {
              epoch++
              session = undefined
              options.onFinished()
            })
          ),
          Effect.scoped,
          Effect.catchAllCause((cause) => Effect.sync(() => onFailed(reasonOf(cause))))
        )
      })

    return {
      listen: (how) => {
        isListening = true
        if (changeLanguage(how)) return
        session = undefined
        isPartial = false
        const mine = ++epoch
        // A failure at once may open another session, which must come after this one.
        run(
          Effect.zipRight(
            Effect.yieldNow(),
            open(how, () => mine === epoch)
          )
        )
      },
      finish: () => {
        if (isListening) Deferred.unsafeDone(finishing, Effect.void)
        else options.onFinished()
        isListening = false
      },
      push: (frame) => {
        if (!isListening && session === undefined) return
        heard.push(frame, isSpeaking)
        if (isSpeaking) speechEnded = heard.end
        const isRest = heard.end <= finalUntil
        if (isRest) heard.forget(heard.end)
        if (session === undefined) return
        if (isRest && epoch !== finalEpoch) {
          given = { first: heard.end, next: heard.end }
          return
        }
        if (!isSpeaking && !isPartial && speechEnded <= heard.start) heard.forget(heard.end - silentFrames)
        given.next = heard.end
        pushTo(session, frame)
      },
      voiceActivity: (on) => {
        isSpeaking = on
        if (on) {
          spokenBefore = speechEnded
          speechBegan = heard.end
        }
        session?.voiceActivity?.(on)
      },
      close: () => {
        epoch++
        isListening = false
        session = undefined
        run(Effect.void)
      },
      seconds: () => Math.round((pushed / legFormat.sampleRate) * 10) / 10
    }
  })

import type { CommandOf } from "@svc/conversation/Command"
import type { AudioFormat } from "@svc/providers/Audio"
import type { SpeechEvent, SpeechToText, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Deferred, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"
import { PendingAudio } from "./PendingAudio.ts"
import { chooseRecognizer } from "./RecognizerChoice.ts"
import { openSession } from "./ResampledSession.ts"

/** A session that fails within `soonMs` is opened again after `pauseMs`, the first time at once. In milliseconds. */
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
  /** A session failed. `broke`: it was open, and had worked for a time. */
  readonly onFailed: (reason: string, broke: boolean) => void
  readonly onFinished: () => void
}): Effect.Effect<Recognition, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    const { format: legFormat, now } = options
    const pending = new PendingAudio(legFormat)
    let session: SpeechToTextSession | undefined
    /** Counts sessions; events of an earlier one are ignored. */
    let epoch = 0
    /** How the session listens; it is set with the session. */
    let listening: ListenOptions | undefined
    /** Samples that sessions got, at the call's rate; what was pushed again counts again. */
    let pushed = 0
    let isListening = options.bufferBeforeListen === true
    /** When a session was asked for, and how many failed soon, one after the other. */
    let listenedAt = 0
    let failedSoon = 0
    /** The words of the open session that are not final yet. */
    let partial = ""
    const finishing = yield* Deferred.make<void>()

    const pushTo = (to: SpeechToTextSession, frame: Int16Array): void => {
      pushed += frame.length
      to.push(frame)
    }
    const onFailed = (reason: string): void => {
      const isSoon = now() - listenedAt < soonMs
      const wasOpen = session !== undefined
      const broke = wasOpen && !isSoon
      session = undefined
      failedSoon = isSoon ? failedSoon + 1 : 0
      if (wasOpen && failedSoon > 1 && partial !== "") takePartial()
      options.onFailed(reason, broke)
    }
    /** A session that gets the same audio again would fail again: what was understood of it counts, and is not pushed again. */
    const takePartial = (): void => {
      const event: SpeechEvent = { _tag: "Final", text: partial, confidence: 0, end: pending.givenMs }
      partial = ""
      pending.recognized(event, epoch)
      options.onEvent(event)
    }
    const onEvent = (event: SpeechEvent): void => {
      if (event._tag === "Failed") onFailed(event.error.reason)
      else {
        if (event._tag === "Partial") partial = event.text
        else if (event._tag === "Final" || event._tag === "EndOfTurn") partial = ""
        pending.recognized(event, epoch)
        options.onEvent(event)
      }
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

    /** The session is open: it gets what is not final yet, then the frames as they come, until there are no more. */
    const use = (ready: SpeechToTextSession, how: ListenOptions): Effect.Effect<void> => {
      reportEndpointing(ready, how)
      session = ready
      listening = how
      partial = ""
      pending.pushAgain(
        ready,
        (frame) => pushTo(ready, frame),
        () => session === ready
      )
      return Effect.zipRight(Deferred.await(finishing), ready.finish)
    }
    const onFinished = Effect.sync(() => {
      // Events after this are ignored, even if the provider goes on.
      epoch++
      session = undefined
      options.onFinished()
    })
    const open = (how: ListenOptions, isCurrent: () => boolean): Effect.Effect<void> => {
      const stt = chosen(how)
      if (stt === undefined) return Effect.sync(() => onFailed("there is no such speech-to-text provider"))
      const opened = Effect.suspend(() => {
        listenedAt = now()
        return openSession(stt, {
          callId: options.callId,
          language: how.language,
          sampleRate: legFormat.sampleRate,
          format: how.format,
          keyterms: how.keyterms,
          onEvent: (event) => {
            if (isCurrent()) onEvent(event)
          }
        })
      })
      return (failedSoon > 1 ? Effect.delay(opened, pauseMs) : opened).pipe(
        Effect.flatMap((ready) => use(ready, how)),
        Effect.zipRight(onFinished),
        Effect.scoped,
        Effect.catchAllCause((cause) => Effect.sync(() => onFailed(reasonOf(cause))))
      )
    }

    return {
      listen: (how) => {
        isListening = true
        if (changeLanguage(how)) return
        session = undefined
        pending.forgetPartial()
        const mine = ++epoch
        const opening = Effect.suspend(() => open(how, () => mine === epoch))
        // A failure at once may open another session, which must come after this one.
        run(Effect.zipRight(Effect.yieldNow(), opening))
      },
      finish: () => {
        if (isListening) Deferred.unsafeDone(finishing, Effect.void)
        else options.onFinished()
        isListening = false
      },
      push: (frame) => {
        if (!isListening && session === undefined) return
        const isGiven = pending.push(frame, epoch, session !== undefined)
        if (isGiven && session !== undefined) pushTo(session, frame)
      },
      voiceActivity: (on) => {
        pending.voiceActivity(on)
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

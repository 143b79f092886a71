import { nearestRate, Resampler } from "@svc/audio/Resampler"
import type { CommandOf } from "@svc/conversation/Command"
import type { SpeechEvent, SpeechToText, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Deferred, Effect, FiberHandle, type Scope } from "effect"
import { reasonOf } from "./Failure.ts"

/** 20 ms frames kept until speech-to-text is open: one second; with `bufferBeforeListen` eight. */
const backlogFrames = 50
const longBacklogFrames = 400

type ListenOptions = Omit<CommandOf<"Listen">, "_tag">

/** The speech-to-text of a call: feeds the caller's frames to one session after another. */
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
  /** In the order of preference. */
  readonly providers: ReadonlyArray<Context.Tag.Service<SpeechToText>>
  readonly sampleRate: number
  /** Whether frames before the first `listen` are recognized too. */
  readonly bufferBeforeListen?: boolean
  readonly onEvent: (event: SpeechEvent) => void
  /** A session is open whose endpointing differs from that of its provider. */
  readonly onOpened: (endpointing: "provider" | "none") => void
  readonly onFailed: (reason: string) => void
  readonly onFinished: () => void
}): Effect.Effect<Recognition, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    let session: SpeechToTextSession | undefined
    let backlog: Array<Int16Array> = []
    /** Counts sessions; events of an earlier one are ignored. */
    let epoch = 0
    /** How the open session listens; undefined: there is none, or it has failed. */
    let listening: ListenOptions | undefined
    /** Samples that sessions got, at the call's rate. */
    let pushed = 0
    const pushTo = (to: SpeechToTextSession, frame: Int16Array): void => {
      pushed += frame.length
      to.push(frame)
    }
    let isSpeaking = false
    let isListening = options.bufferBeforeListen === true
    const maxBacklog = isListening ? longBacklogFrames : backlogFrames
    const finishing = yield* Deferred.make<void>()

    /** Tells how the session ends turns, where it does so in another way than its provider's others. */
    const tellEndpointing = ({ endpointing }: SpeechToTextSession, { provider = 0 }: ListenOptions): void => {
      if (endpointing !== undefined && endpointing !== options.providers[provider]?.capabilities.endpointing)
        options.onOpened(endpointing)
    }
    /** Changes the language of the open session, so that nothing of what the caller says now is lost. */
    const changeLanguage = (how: ListenOptions): boolean => {
      if (session === undefined || listening === undefined || listening.language === how.language) return false
      if (listening.provider !== how.provider || listening.format !== how.format) return false
      if (session.update?.({ language: how.language, keyterms: how.keyterms }) !== true) return false
      listening = how
      tellEndpointing(session, how)
      return true
    }

    const open = (how: ListenOptions) =>
      Effect.suspend((): Effect.Effect<void> => {
        const { format, keyterms, language, provider = 0 } = how
        const mine = ++epoch
        session = undefined
        listening = undefined
        const stt = options.providers[provider]
        if (stt === undefined) return Effect.sync(() => options.onFailed("there is no such recognizer"))
        const sampleRate = nearestRate(options.sampleRate, stt.capabilities.sampleRates)
        const opened = stt.open({
          callId: options.callId,
          language,
          sampleRate,
          format,
          keyterms,
          onEvent: (event) => {
            if (mine !== epoch) return
            if (event._tag === "Failed") {
              listening = undefined
              options.onFailed(event.error.reason)
            } else options.onEvent(event)
          }
        })
        return Effect.flatMap(opened, (own) => {
          const ready = sampleRate === options.sampleRate ? own : converted(own, options.sampleRate, sampleRate)
          session = ready
          listening = how
          tellEndpointing(own, how)
          if (isSpeaking) ready.voiceActivity?.(true)
          for (const frame of backlog) pushTo(ready, frame)
          backlog = []
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
          Effect.catchAllCause((cause) => Effect.sync(() => options.onFailed(reasonOf(cause))))
        )
      })

    return {
      listen: (how) => {
        isListening = true
        if (!changeLanguage(how)) run(open(how))
      },
      finish: () => {
        if (isListening) Deferred.unsafeDone(finishing, Effect.void)
        else options.onFinished()
        isListening = false
      },
      push: (frame) => {
        if (session !== undefined) pushTo(session, frame)
        else if (isListening && backlog.length < maxBacklog) backlog.push(frame.slice())
      },
      voiceActivity: (on) => {
        isSpeaking = on
        session?.voiceActivity?.(on)
      },
      close: () => {
        epoch++
        isListening = false
        session = undefined
        run(Effect.void)
      },
      seconds: () => Math.round((pushed / options.sampleRate) * 10) / 10
    }
  })

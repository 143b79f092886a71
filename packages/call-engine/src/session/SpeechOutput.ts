import type { CallUsage } from "@svc/api/calls/CallUsage"
import { nearestRate, Resampler } from "@svc/audio/Resampler"
import type { CommandOf } from "@svc/conversation/Command"
import { spaceBetween } from "@svc/conversation/SpokenText"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import type { SpeechTurn } from "@svc/providers/TextToSpeech"
import { type Context, Effect, FiberHandle, type Scope } from "effect"
import type { CallMedia } from "../media/CallMedia.ts"
import type { SpeechCache, SpeechSource } from "../speech/SpeechCache.ts"
import { reasonOf } from "./Failure.ts"
import type { ChooseVoice } from "./VoiceChoice.ts"

/** Longest wait for the first or the next audio of a text, in milliseconds. */
const silentMs = 10_000
/** The same when texts before it were stopped without any audio: a voice that hangs is not waited for again. */
const shortestSilentMs = 1000
const noAudio = "the voice gave no audio"
/** Times of more characters than so many times those of the text are of something else than the text. */
const longestAlignment = 3
/** The longest text that is given to a voice as what was said before, in characters. */
const longestBefore = 500

/** What was played of an utterance that was stopped. `held`: it can go on. */
type Cut = ReturnType<CallMedia["clear"]>[number]

/** Texts that are spoken as one, and may get more until they are ended. */
interface Speech {
  readonly first: CommandOf<"Speak">
  readonly texts: Array<CommandOf<"Speak">>
  isEnded: boolean
  /** Called for further texts, and for the end, once the synthesis has begun. */
  onText: (command: CommandOf<"Speak">) => void
  onEnd: () => void
}

const speechOf = (first: CommandOf<"Speak">, ...others: ReadonlyArray<CommandOf<"Speak">>): Speech => ({
  first,
  texts: [first, ...others],
  isEnded: first.turn === undefined || others.length > 0,
  onText: () => {},
  onEnd: () => {}
})

const end = (speech: Speech): void => {
  if (speech.isEnded) return
  speech.isEnded = true
  speech.onEnd()
}

/** The text whose synthesis began before the call was answered. */
export interface PreparedSpeech {
  readonly text: string
  readonly source: SpeechSource
}

/** Whether a text goes on with the speech of another. */
const continues = ({ first, isEnded }: Speech, next: CommandOf<"Speak">): boolean =>
  !isEnded &&
  first.turn === next.turn &&
  first.voice === next.voice &&
  first.language === next.language &&
  first.speed === next.speed &&
  first.provider === next.provider

/**
 * The text-to-speech of a call: synthesizes one turn after the other into the media, the next while the previous still
 * plays. The texts of an answer are one turn. The media reports which utterances were played.
 */
export interface SpeechOutput {
  readonly speak: (command: CommandOf<"Speak">) => void
  /** No text of this turn follows. */
  readonly end: (turn: number) => void
  /** Stops at once. Returns what had been played of each unfinished utterance. `hold`: what has audio is kept. */
  readonly stop: (hold?: boolean) => ReadonlyArray<Cut>
  /** Goes on with what is held. */
  readonly resume: () => void
  /** Drops what is held. */
  readonly drop: () => void
  /** When the provider was asked for the utterance, and when it returned the first audio. Can be read once. */
  readonly timesOf: (id: string) => { readonly asked_at: number; readonly audio_at: number } | undefined
  /** Characters of the texts that were to be synthesized until now. */
  readonly used: () => CallUsage["tts"]
}

/** Wakes up for the outputs that wait for audio. */
export const silenceTimeout = SharedTimeout.make(shortestSilentMs)

export const make = (options: {
  readonly callId: string
  readonly media: CallMedia
  readonly sampleRate: number
  readonly chooseVoice: ChooseVoice
  /** Keeps the audio of fixed texts; absent: every text is synthesized. */
  readonly cache?: Context.Tag.Service<SpeechCache>
  readonly prepared?: PreparedSpeech | null
  readonly onFailed: (id: string, reason: string) => void
  /** A voice does what it must not; its audio is played all the same. Absent: it is ignored. */
  readonly onWarning?: (reason: string) => void
  /** The call's time, in milliseconds. */
  readonly now: () => number
  /** {@link silenceTimeout}, where outputs share one. */
  readonly silence?: SharedTimeout.SharedTimeout
}): Effect.Effect<SpeechOutput, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { cache, media, now } = options
    const handle = yield* FiberHandle.make<void>()
    const run = yield* FiberHandle.runtime(handle)<never>()
    const silence = options.silence ?? (yield* silenceTimeout)
    /** The speech that is synthesized, and what follows it. */
    let current: Speech | undefined
    let queue: Array<Speech> = []
    let working = false
    let characters = 0
    let cached_characters = 0
    let { prepared } = options
    /** How long the caller has waited for texts that were stopped before they gave any audio, in milliseconds. */
    let waited = 0
    /** The provider that was asked last. */
    let asked: ReturnType<ChooseVoice>["provider"] | undefined
    /** When the speech that has given no audio yet was asked for. */
    let silentSince: number | undefined
    /** Ends the watch of the speech that is synthesized. */
    let stopWatching = () => {}
    yield* Effect.addFinalizer(() => Effect.sync(() => stopWatching()))
    /** Raised by `stop`: audio of an earlier epoch is dropped. */
    let epoch = 0
    let held = false
    /** A failure that is reported when what is held goes on. */
    let failedWhileHeld: (() => void) | undefined
    /** What was said before, for the intonation of what follows. */
    let before = ""
    /** Times of the utterances of which no frame has been sent. */
    const times = new Map<string, { readonly asked_at: number; readonly audio_at: number }>()

    let hasWarned = false
    /** Warns once in a call of a voice whose times are not those of its text. */
    const checkAlignment = (characters: number, length: number): void => {
      if (hasWarned || characters <= longestAlignment * length) return
      hasWarned = true
      const what = `the voice gave times for ${characters} characters of a text that has ${length}`
      options.onWarning?.(`${what}: its audio may not be this text`)
    }

    const drained = Effect.async<void>((resume) => {
      const forget = media.onDrained(() => resume(Effect.void))
      return Effect.sync(forget)
    })
    /** Waits until everything that was written has its place. */
    const placed: Effect.Effect<void> = Effect.suspend(() =>
      media.overflowing ? Effect.zipRight(drained, placed) : Effect.void
    )

    const countSource = (text: string, source: SpeechSource): void => {
      // What was prepared before the answer is in the cache because of this call.
      const from = prepared?.text === text ? prepared.source : source
      prepared = null
      if (from === "cache") cached_characters += text.length
    }

    const synthesize = (speech: Speech): Effect.Effect<void> =>
      Effect.suspend(() => {
        const mine = epoch
        const { first } = speech
        const asked_at = now()
        silentSince = asked_at
        const { provider, voice } = options.chooseVoice(first)
        if (provider !== asked) waited = 0
        asked = provider
        const rates = provider.sampleRatesFor?.({ callId: options.callId, voice, language: first.language })
        const sampleRate = nearestRate(options.sampleRate, rates ?? provider.sampleRates)
        const ratio = options.sampleRate / sampleRate
        const resampler = ratio === 1 ? undefined : new Resampler(sampleRate, options.sampleRate)
        let turn: SpeechTurn | undefined
        let text = ""
        let written = 0
        let expectsAudio = true
        let isOver = false
        let active = asked_at
        const expect = () => {
          expectsAudio = true
          active = now()
        }
        const request = {
          callId: options.callId,
          turn: first.id,
          voice,
          language: first.language,
          sampleRate,
          speed: first.speed ?? 1,
          ...(before === "" ? {} : { previousText: before }),
          sink: {
            write: (samples: Int16Array) => {
              if (isOver || mine !== epoch) return true
              if (samples.length > 0) {
                silentSince = undefined
                waited = 0
                active = now()
                // A turn that may get more text may pause after any audio.
                expectsAudio = speech.isEnded
                if (written === 0) times.set(first.id, { asked_at, audio_at: active })
              }
              written += samples.length
              return media.write(resampler?.push(samples) ?? samples)
            },
            align: (characters: number, atSample: number) => {
              if (isOver || mine !== epoch) return
              checkAlignment(characters, text.length)
              media.align(characters, Math.round(atSample * ratio))
            },
            drained
          }
        }
        /** When the last activity was, as a timeout of {@link shortestSilentMs} counts it, by the time of `silence`. */
        const activity = (): number => {
          const limit = written === 0 ? Math.max(shortestSilentMs, silentMs - waited) : silentMs
          if (!expectsAudio || media.busy) active = now()
          return silence.now() - (now() - active) + limit - shortestSilentMs
        }
        const pieces: Array<string> = []
        const say = (command: CommandOf<"Speak">): void => {
          const space = spaceBetween(text, command.text)
          const piece = space + command.text
          if (text === "") media.begin(command.id, command.text, !speech.isEnded)
          else media.say(command.id, space, command.text)
          text += piece
          characters += command.text.length
          expect()
          if (turn === undefined) pieces.push(piece)
          else turn.say(piece)
        }
        const synthesis = Effect.scoped(
          Effect.flatMap(
            Effect.suspend(() => provider.open(request)),
            (opened) => {
              turn = opened
              for (const piece of pieces) opened.say(piece)
              if (speech.isEnded) opened.end()
              return opened.done
            }
          )
        )
        for (const command of speech.texts) say(command)
        speech.onText = say
        // A constant first: see docs/decisions/0034-short-lived-objects.md.
        const onEnd = (): void => {
          expect()
          media.endText()
          turn?.end()
        }
        speech.onEnd = onEnd
        const known =
          first.turn === undefined
            ? cache?.speak(provider, { ...request, text: first.text }, (source) => {
                if (mine === epoch) countSource(first.text, source)
              })
            : undefined
        const over = (failure: string | undefined): Effect.Effect<void> =>
          Effect.suspend(() => {
            if (mine !== epoch) return Effect.void
            isOver = true
            stopWatching()
            speech.isEnded = true
            if (resampler !== undefined) media.write(resampler.end())
            return Effect.flatMap(placed, () => Effect.sync(() => mine === epoch && settle(speech, text, failure)))
          })
        // Fails the synthesis when nothing is written for a while although audio is expected and there is room.
        stopWatching = silence.watch(activity, () => {
          if (isOver || mine !== epoch) return
          // Later: what follows from the failure may run something else, which must replace this and not the reverse.
          run(Effect.zipRight(over(noAudio), work(mine)), { immediate: false })
        })
        return Effect.matchCauseEffect(known ?? synthesis, {
          onSuccess: () => over(speech.isEnded ? undefined : "the voice ended the turn before its text"),
          onFailure: (cause) => over(reasonOf(cause))
        })
      })

    /** The synthesis of a turn is over. Of the texts that were not spoken, the first has failed; others are tried again. */
    const settle = ({ texts }: Speech, text: string, failure: string | undefined): void => {
      current = undefined
      before = `${before} ${text}`.slice(-longestBefore).trim()
      const unspoken = media.end(failure === undefined)
      const [failed] = unspoken
      if (failed === undefined) return
      const [first, ...others] = texts.filter(({ id }) => id !== failed && unspoken.includes(id))
      if (first !== undefined) queue.unshift(speechOf(first, ...others))
      const report = () => options.onFailed(failed, failure ?? noAudio)
      if (held) failedWhileHeld = report
      else report()
    }

    /** Works on the queue in an epoch: after `stop`, which a failure may cause at once, it belongs to another fiber. */
    const work = (mine: number): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (mine !== epoch) return Effect.void
        current = queue.shift()
        if (current !== undefined) return Effect.zipRight(synthesize(current), work(mine))
        working = false
        return Effect.void
      })

    const notBegun = (): ReadonlyArray<string> => queue.flatMap(({ texts }) => texts.map(({ id }) => id))

    /** Drops everything. */
    const clear = (): ReadonlyArray<Cut> => {
      const unplayed = notBegun().map((id) => ({ id, played: "" }))
      queue = []
      current = undefined
      working = false
      held = false
      failedWhileHeld = undefined
      epoch++
      stopWatching()
      if (silentSince !== undefined) waited += now() - silentSince
      silentSince = undefined
      times.clear()
      const cuts = media.clear()
      run(Effect.void)
      return [...cuts, ...unplayed]
    }

    return {
      speak: (command) => {
        const last = queue.at(-1) ?? current
        if (last !== undefined && continues(last, command)) {
          last.texts.push(command)
          last.onText(command)
          return
        }
        if (last !== undefined) end(last)
        queue.push(speechOf(command))
        if (working) return
        working = true
        run(work(epoch))
      },
      end: (turn) => {
        const last = queue.at(-1) ?? current
        if (last?.first.turn === turn) end(last)
      },
      stop: (hold = false) => {
        if (!hold || !media.canHold) return clear()
        const cuts = media.hold()
        // The ring does not have the audio to go on with any more.
        if (!cuts.some(({ held }) => held)) {
          clear()
          return cuts
        }
        held = true
        return [...cuts, ...notBegun().map((id) => ({ id, played: "", held: true as const }))]
      },
      resume: () => {
        held = false
        media.resume()
        failedWhileHeld?.()
        failedWhileHeld = undefined
      },
      drop: () => void clear(),
      timesOf: (id) => {
        const found = times.get(id)
        times.delete(id)
        return found
      },
      used: () => ({ characters, cached_characters })
    }
  })

import { Providers } from "@svc/providers/Providers"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import type { TextToSpeech } from "@svc/providers/TextToSpeech"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { type Context, Effect, Runtime } from "effect"
import { Callbacks } from "../Callbacks.ts"
import { CallMessages } from "../CallMessages.ts"
import { isGender } from "../conversation/GatherAnswer.ts"
import { Journal } from "../Journal.ts"
import { EnergyVoice } from "../media/EnergyVoice.ts"
import { Ticker } from "../media/Ticker.ts"
import { Recorder } from "../recording/Recorder.ts"

/** What every session of the process shares. */
export interface SessionServices {
  readonly callbacks: Context.Tag.Service<Callbacks>
  readonly messages: Context.Tag.Service<CallMessages>
  readonly journal: Context.Tag.Service<Journal>
  readonly providers: Context.Tag.Service<Providers>
  readonly ticker: Context.Tag.Service<Ticker>
  readonly recorder: Context.Tag.Service<Recorder>
  readonly recognizer: Context.Tag.Service<SpeechToText>
  /** The synthesizer that has the voice, else the preferred one. */
  readonly voiceFor: (voice: string, language: string) => Context.Tag.Service<TextToSpeech>
  /**
   * The name of a voice. `female` and `male` are one that speaks the language, the `preferred` before others; where no
   * such voice speaks it, one of another gender.
   */
  readonly voiceNamed: (voice: string, language: string, preferred: string) => string
  readonly speaks: (voice: string, language: string) => boolean
  readonly detector: (sampleRate: number) => VoiceActivityDetector
  /** Runs something that may outlive the call, but not the engine. */
  readonly background: (effect: Effect.Effect<void>) => void
  /** Reports a fault of ours. */
  readonly report: (message: string, defect: unknown) => void
}

/** The shared services, from the loaded providers. `background` runs what may outlive a call. */
export const sessionServices = (
  background: (effect: Effect.Effect<void>) => void
): Effect.Effect<SessionServices, never, Providers | Callbacks | CallMessages | Journal | Ticker | Recorder> =>
  Effect.gen(function* () {
    const providers = yield* Providers
    const runtime = yield* Effect.runtime<never>()
    const [recognizer] = providers.speechToText
    const [synthesizer] = providers.textToSpeech
    if (recognizer === undefined || synthesizer === undefined || providers.languageModel.length === 0) {
      return yield* Effect.dieMessage("calls need plugins for speech-to-text, text-to-speech and a language model")
    }
    const withVoice = (voice: string, language: string) =>
      providers.textToSpeech.find((tts) =>
        tts.voices.some((v) => v.name === voice && (v.languages === "*" || v.languages.includes(language)))
      )
    return {
      callbacks: yield* Callbacks,
      messages: yield* CallMessages,
      journal: yield* Journal,
      providers,
      ticker: yield* Ticker,
      recorder: yield* Recorder,
      recognizer,
      voiceFor: (voice, language) => withVoice(voice, language) ?? synthesizer,
      voiceNamed: (voice, language, preferred) => {
        if (!isGender(voice)) return voice
        const speaking = providers.textToSpeech.flatMap(({ voices }) =>
          voices.filter(({ languages }) => languages === "*" || languages.includes(language))
        )
        const fitting = speaking.filter(({ gender }) => gender === voice)
        const choice = fitting.length > 0 ? fitting : speaking
        return choice.find(({ name }) => name === preferred)?.name ?? choice[0]?.name ?? preferred
      },
      speaks: (voice, language) => withVoice(voice, language) !== undefined,
      detector: (sampleRate) => providers.voiceActivity?.open(sampleRate) ?? new EnergyVoice(),
      background,
      report: (message, defect) => {
        Runtime.runFork(runtime)(Effect.logError(message, defect))
      }
    }
  })

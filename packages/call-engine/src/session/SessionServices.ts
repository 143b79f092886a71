import { EnergyVoice } from "@svc/audio/EnergyDetector"
import { isGender } from "@svc/conversation/answers/GatherAnswer"
import type { Facts } from "@svc/conversation/Input"
import { Providers } from "@svc/providers/Providers"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { Config, type ConfigError, type Context, Effect, Runtime } from "effect"
import { Callbacks } from "../agent-server/Callbacks.ts"
import { Ticker } from "../media/Ticker.ts"
import { Journal } from "../record/Journal.ts"
import { Recorder } from "../recording/Recorder.ts"
import { CallMessages } from "./CallMessages.ts"
import { type VoiceFor, voiceOf } from "./VoiceChoice.ts"

/** What every session of the process shares. */
export interface SessionServices {
  readonly callbacks: Context.Tag.Service<Callbacks>
  readonly messages: Context.Tag.Service<CallMessages>
  readonly journal: Context.Tag.Service<Journal>
  readonly providers: Context.Tag.Service<Providers>
  readonly ticker: Context.Tag.Service<Ticker>
  readonly recorder: Context.Tag.Service<Recorder>
  /** What the facts of every call say of this process. */
  readonly facts: Pick<Facts, "endpointing" | "providers" | "filler_ms">
  /**
   * The synthesizer that has the voice, else the preferred one. To fall back on (`provider`): the next that speaks the
   * language, by a voice of the same gender where it has one.
   */
  readonly voiceFor: VoiceFor
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

/** How long a caller waits for the model before the agent says that it takes a moment, in milliseconds; 0: it never does. */
const fillerMs: Config.Config<number> = Config.integer("SVC_FILLER_AFTER_MS").pipe(
  Config.validate({
    message: "must be 0, or milliseconds from 200 to 10000",
    validation: (ms) => ms === 0 || (ms >= 200 && ms <= 10_000)
  }),
  Config.withDefault(0)
)

/** The shared services, from the loaded providers. `background` runs what may outlive a call. */
export const sessionServices = (
  background: (effect: Effect.Effect<void>) => void
): Effect.Effect<
  SessionServices,
  ConfigError.ConfigError,
  Providers | Callbacks | CallMessages | Journal | Ticker | Recorder
> =>
  Effect.gen(function* () {
    const providers = yield* Providers
    const filler_ms = yield* fillerMs
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
      facts: {
        endpointing: recognizer.capabilities.endpointing,
        providers: {
          recognizers: providers.speechToText.map(({ capabilities }) => capabilities.endpointing),
          models: providers.languageModel.length,
          voices: providers.textToSpeech.length
        },
        ...(filler_ms === 0 ? {} : { filler_ms })
      },
      voiceFor: voiceOf(providers.textToSpeech, synthesizer),
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

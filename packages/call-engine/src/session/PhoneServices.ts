import { Providers } from "@svc/providers/Providers"
import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { type ConfigError, type Context, Effect } from "effect"
import type { AgentServerClient } from "../agent-server/AgentServerClient.ts"
import { builtInVoiceActivity } from "../media/BuiltInVoiceActivity.ts"
import { Ticker } from "../media/Ticker.ts"
import { LiveCallWriter } from "../record/LiveCallWriter.ts"
import { Recorder } from "../recording/Recorder.ts"
import { SpeechCache } from "../speech/SpeechCache.ts"
import type { CallKnowledge } from "./CallKnowledge.ts"
import type { CallMessages } from "./CallMessages.ts"
import { type ConversationServices, conversationServices } from "./ConversationServices.ts"
import { silenceTimeout } from "./SpeechOutput.ts"
import { type ChooseVoice, chooseVoice, type ResolveVoice, resolveVoice } from "./VoiceChoice.ts"

/** The services that all phone sessions of the process share. */
export interface PhoneServices extends ConversationServices {
  readonly answered: Context.Tag.Service<LiveCallWriter>["answered"]
  /** In the order of preference. */
  readonly speechToText: Context.Tag.Service<Providers>["speechToText"]
  readonly chooseVoice: ChooseVoice
  readonly resolveVoice: ResolveVoice
  readonly speechCache: Context.Tag.Service<SpeechCache>
  /** For the voices of all calls. */
  readonly silence: SharedTimeout
  /** The sample rate of the last leg that was answered, in Hz: probably that of the next. */
  readonly expectedRate: { hz: number }
  readonly voiceActivity: (sampleRate: number) => VoiceActivityDetector
  readonly ticker: Context.Tag.Service<Ticker>
  readonly recorder: Context.Tag.Service<Recorder>
}

/** The services, from the loaded providers. `background` runs effects that may outlive a call. */
export const phoneServices = (
  background: (effect: Effect.Effect<void>) => void
): Effect.Effect<
  PhoneServices,
  ConfigError.ConfigError,
  Providers | AgentServerClient | CallKnowledge | CallMessages | LiveCallWriter | Ticker | Recorder | SpeechCache
> =>
  Effect.gen(function* () {
    const { speechToText, textToSpeech, voiceActivity } = yield* Providers
    const detectors = voiceActivity ?? (yield* builtInVoiceActivity)
    const { answered } = yield* LiveCallWriter
    const [preferred] = textToSpeech
    if (preferred === undefined) return yield* Effect.dieMessage("calls need a plugin for text-to-speech")
    const shared = yield* conversationServices(background)
    return {
      ...shared,
      facts: { ...shared.facts, preemptive: true },
      answered,
      speechToText,
      chooseVoice: chooseVoice(textToSpeech, preferred),
      resolveVoice: resolveVoice(textToSpeech),
      speechCache: yield* SpeechCache,
      silence: yield* silenceTimeout,
      expectedRate: { hz: 8000 },
      voiceActivity: detectors.open,
      ticker: yield* Ticker,
      recorder: yield* Recorder
    }
  })

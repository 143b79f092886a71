import type { Abilities } from "@svc/conversation/answers/CallSettings"
import type { Facts, UntimedInput } from "@svc/conversation/Input"
import { Providers } from "@svc/providers/Providers"
import { Config, type ConfigError, type Context, Effect, Option, Runtime } from "effect"
import { AgentServerClient } from "../agent-server/AgentServerClient.ts"
import { type CallEvents, type Journal, LiveCallWriter } from "../record/LiveCallWriter.ts"
import { CallKnowledge } from "./CallKnowledge.ts"
import { CallMessages } from "./CallMessages.ts"
import { abilitiesOf } from "./VoiceChoice.ts"

/** Gives an input to the conversation. Synchronous; never throws. */
export type Feed = (input: UntimedInput) => void

/** The services that all sessions of the process share, phone calls and text sessions alike. */
export interface ConversationServices {
  readonly agentServer: Context.Tag.Service<AgentServerClient>
  readonly messages: Context.Tag.Service<CallMessages>
  readonly knowledge: Context.Tag.Service<CallKnowledge>
  readonly journal: Journal
  readonly events: CallEvents
  readonly serverRequests: Context.Tag.Service<LiveCallWriter>["serverRequests"]
  /** Language models in the order of preference. */
  readonly models: Context.Tag.Service<Providers>["languageModel"]
  /** The part of each call's facts that is the same for the whole process. */
  readonly facts: Pick<
    Facts,
    "endpointing" | "providers" | "filler_ms" | "preemptive" | "context_tokens" | "history_tokens"
  >
  /** What the voices and language models of all providers can do. */
  readonly abilities: Abilities
  /** Runs an effect that may outlive the call, but not the engine, in a fiber of its own. */
  readonly background: (effect: Effect.Effect<void>) => void
  /** Logs a defect that ended a call. */
  readonly report: (callId: string, defect: unknown) => void
}

/** How long a caller waits for the model before the agent says a filler, in milliseconds; 0: no fillers. */
const fillerMs: Config.Config<number> = Config.integer("SVC_FILLER_AFTER_MS").pipe(
  Config.validate({
    message: "must be 0, or milliseconds from 200 to 10000",
    validation: (ms) => ms === 0 || (ms >= 200 && ms <= 10_000)
  }),
  Config.withDefault(0)
)

/** The most tokens of a request; a smaller context of the model counts more. */
const historyTokens: Config.Config<Option.Option<number>> = Config.integer("SVC_MODEL_HISTORY_TOKENS").pipe(
  Config.validate({
    message: "must be tokens from 1000 to 10000000",
    validation: (tokens) => tokens >= 1000 && tokens <= 10_000_000
  }),
  Config.option
)

/** The services, from the loaded providers. `background` runs effects that may outlive a call. */
export const conversationServices = (
  background: (effect: Effect.Effect<void>) => void
): Effect.Effect<
  ConversationServices,
  ConfigError.ConfigError,
  Providers | AgentServerClient | CallKnowledge | CallMessages | LiveCallWriter
> =>
  Effect.gen(function* () {
    const { languageModel, speechToText, textToSpeech } = yield* Providers
    const writer = yield* LiveCallWriter
    const filler_ms = yield* fillerMs
    const history_tokens = yield* historyTokens
    const runtime = yield* Effect.runtime<never>()
    const [stt] = speechToText
    if (stt === undefined || languageModel.length === 0) {
      return yield* Effect.dieMessage("calls need plugins for speech-to-text and a language model")
    }
    return {
      agentServer: yield* AgentServerClient,
      messages: yield* CallMessages,
      knowledge: yield* CallKnowledge,
      journal: writer.journal,
      events: writer.events,
      serverRequests: writer.serverRequests,
      models: languageModel,
      facts: {
        endpointing: stt.capabilities.endpointing,
        providers: {
          recognizers: speechToText.map(({ capabilities }) => capabilities.endpointing),
          models: languageModel.length,
          voices: textToSpeech.length
        },
        ...(filler_ms === 0 ? {} : { filler_ms }),
        ...(Option.isNone(history_tokens) ? {} : { history_tokens: history_tokens.value }),
        // Read for each call: plugins may refresh their lists.
        get context_tokens() {
          return languageModel.map(({ contextTokens, models: [model] }) =>
            model === undefined ? null : (contextTokens?.(model) ?? null)
          )
        }
      },
      abilities: abilitiesOf({ languageModel, textToSpeech }),
      background,
      report: (callId, defect) => {
        const line = Effect.logError(`Call ${callId} crashed`, defect)
        Runtime.runFork(runtime)(Effect.annotateLogs(line, "call_id", callId))
      }
    }
  })

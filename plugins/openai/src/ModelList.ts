import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import * as ServerHealth from "@svc/providers/ServerHealth"
import { Duration, Effect, Option, Schema, type Scope } from "effect"
import type { OpenAiClient } from "./OpenAiClient.ts"

/** What a server says about itself. */
export interface ModelList {
  /** The names of its models, as far as known. */
  readonly names: () => ReadonlyArray<string>
  /** How many tokens a request to a model and its answer may have together, as far as the server says. */
  readonly contextTokens: (model: string) => number | undefined
  readonly health: Effect.Effect<Health>
  /** Opens a connection, if none was used lately. */
  readonly warm: Effect.Effect<void>
}

const Entry = Schema.Struct({
  id: Schema.String,
  owned_by: Schema.optional(Schema.Unknown),
  /** vLLM and SGLang. */
  max_model_len: Schema.optional(Schema.Unknown),
  /** Groq. */
  context_window: Schema.optional(Schema.Unknown),
  /** OpenRouter and Together. */
  context_length: Schema.optional(Schema.Unknown),
  /** Mistral. */
  max_context_length: Schema.optional(Schema.Unknown)
})
const Models = Schema.Struct({ data: Schema.Array(Entry) })
const decodeModels = Schema.decodeUnknownOption(Models)
/** What a server writes there may be anything. */
const contextOf = (entry: typeof Entry.Type): number | undefined =>
  [entry.max_model_len, entry.context_window, entry.context_length, entry.max_context_length].find(
    (tokens): tokens is number => Number.isSafeInteger(tokens) && Number(tokens) > 0
  )
/** The context that each request has at a server of llama.cpp, which divides it among its slots. */
const Props = Schema.Struct({
  default_generation_settings: Schema.Struct({ n_ctx: Schema.Int.pipe(Schema.positive()) })
})
const decodeProps = Schema.decodeUnknownOption(Props)

/**
 * Reads `GET /models` at the start, which also opens a connection and checks the key, and again from time to time. A server
 * without that list is healthy when it answers at all.
 */
export const make = (client: OpenAiClient, host: Host): Effect.Effect<ModelList, never, Scope.Scope> =>
  Effect.gen(function* () {
    let names: ReadonlyArray<string> = []
    let contexts: ReadonlyMap<string, number> = new Map()
    /** Beside the path of the base URL: `/props` where that is `/v1`. The list has only the context of the training. */
    const slotContext = client.json({ method: "GET", path: "/../props", retryWithin: Duration.zero }).pipe(
      Effect.map((body) => Option.map(decodeProps(body), (props) => props.default_generation_settings.n_ctx)),
      Effect.catchAll(({ reason }) =>
        Effect.as(Effect.logDebug(`the context of the model is not known: ${reason}`), Option.none<number>())
      )
    )
    const request = client.json({ method: "GET", path: "/models", retryWithin: Duration.zero }).pipe(
      Effect.tap((body) =>
        Effect.gen(function* () {
          const models = decodeModels(body)
          if (Option.isNone(models)) return
          const { data } = models.value
          names = data.map(({ id }) => id)
          const isLlama = data.some(({ owned_by }) => owned_by === "llamacpp")
          const slot = isLlama ? Option.getOrUndefined(yield* slotContext) : undefined
          contexts = new Map(
            data.flatMap((entry) => {
              const tokens = contextOf(entry) ?? slot
              return tokens === undefined ? [] : [[entry.id, tokens] as const]
            })
          )
        })
      )
    )
    const { health } = yield* ServerHealth.make({
      request,
      failures: client.failures,
      host,
      noAnswer: "the server of SVC_OPENAI_BASE_URL does not answer"
    })
    return { names: () => names, contextTokens: (model) => contexts.get(model), health, warm: Effect.asVoid(health) }
  })

import { Embedding } from "@svc/providers/Embedding"
import { LanguageModel } from "@svc/providers/LanguageModel"
import * as Plugin from "@svc/providers/Plugin"
import { SpeechToText } from "@svc/providers/SpeechToText"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { Context, Effect, Layer, Schema } from "effect"
import { make as makeList } from "./ModelList.ts"
import { make as makeClient } from "./OpenAiClient.ts"
import { make as makeEmbedding } from "./OpenAiEmbedding.ts"
import { make as makeModel } from "./OpenAiModel.ts"
import { make as makeRealtime } from "./OpenAiRealtime.ts"
import { make as makeSpeech } from "./OpenAiSpeech.ts"
import { make as makeTranscription } from "./OpenAiTranscription.ts"

const openAiUrl = "https://api.openai.com/v1"
/** OpenAI's model when none is named: quick enough for speech. */
const openAiModel = "gpt-4.1-mini"

const listOf = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")

const isUrl = (text: string): boolean => {
  try {
    const { protocol, search } = new URL(text)
    return (protocol === "http:" || protocol === "https:") && search === ""
  } catch {
    return false
  }
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const Name = optional(Schema.NonEmptyString)

const Settings = Schema.Struct({
  apiKey: optional(Schema.Redacted(Schema.NonEmptyString)),
  baseUrl: optional(
    Schema.String.pipe(
      Schema.filter(isUrl, {
        message: () => "must be an http or https address with its path, as http://127.0.0.1:8080/v1"
      })
    )
  ),
  model: Name,
  models: Name,
  contextTokens: optional(
    Schema.NumberFromString.pipe(
      Schema.filter((n) => Number.isInteger(n) && n >= 1000, { message: () => "must be a whole number from 1000" })
    )
  ),
  ttsModel: Name,
  sttModel: Name,
  sttStreaming: optional(Schema.BooleanFromString),
  embeddingModel: Name
}).pipe(
  Schema.filter(({ apiKey, baseUrl }) =>
    apiKey === undefined && baseUrl === undefined
      ? { path: ["apiKey"], message: "must be set, or SVC_OPENAI_BASE_URL for a server without keys" }
      : undefined
  ),
  Schema.filter(({ sttModel, sttStreaming }) =>
    sttStreaming === true && sttModel === undefined
      ? { path: ["sttStreaming"], message: "needs SVC_OPENAI_STT_MODEL, such as gpt-live-transcribe" }
      : undefined
  )
)
type Settings = typeof Settings.Type

/** The connection to the server, which all capabilities share. */
class Server extends Context.Tag("@svc/plugin-openai/Server")<
  Server,
  {
    readonly client: Effect.Effect.Success<ReturnType<typeof makeClient>>
    readonly list: Effect.Effect.Success<ReturnType<typeof makeList>>
  }
>() {}

/**
 * Language models of OpenAI, and of every server that speaks the same protocol: vLLM, llama.cpp, Ollama, Groq and others.
 * Speech-to-text, text-to-speech and embeddings each where a model is named for them.
 *
 * Settings: `SVC_OPENAI_API_KEY`, `SVC_OPENAI_BASE_URL` (with `/v1`), `SVC_OPENAI_MODEL`, `SVC_OPENAI_MODELS`,
 * `SVC_OPENAI_CONTEXT_TOKENS`, `SVC_OPENAI_TTS_MODEL`, `SVC_OPENAI_STT_MODEL`, `SVC_OPENAI_STT_STREAMING`,
 * `SVC_OPENAI_EMBEDDING_MODEL`.
 */
export default Plugin.make({
  name: "openai",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: (settings: Settings, host) => {
    const baseUrl = (settings.baseUrl ?? openAiUrl).replace(/\/+$/, "")
    const isOpenAi = new URL(baseUrl).hostname === "api.openai.com"
    const server = Layer.scoped(
      Server,
      Effect.gen(function* () {
        const client = yield* makeClient({ baseUrl, apiKey: settings.apiKey, host })
        return { client, list: yield* makeList(client, host) }
      })
    )
    const models = [
      ...(settings.model === undefined ? (isOpenAi ? [openAiModel] : []) : [settings.model]),
      ...listOf(settings.models ?? "")
    ]
    const languageModel = Layer.effect(
      LanguageModel,
      Effect.flatMap(Server, ({ client, list }) =>
        makeModel({ client, list, models, contextTokens: settings.contextTokens, isOpenAi, host })
      )
    )
    const { embeddingModel, sttModel, sttStreaming, ttsModel } = settings
    return {
      languageModel: Layer.provide(languageModel, server),
      ...(sttModel === undefined
        ? {}
        : {
            speechToText: Layer.effect(
              SpeechToText,
              Effect.flatMap(Server, (shared) =>
                sttStreaming === true
                  ? makeRealtime({ ...shared, model: sttModel, host })
                  : makeTranscription({ ...shared, model: sttModel })
              )
            ).pipe(Layer.provide(server))
          }),
      ...(ttsModel === undefined
        ? {}
        : {
            textToSpeech: Layer.effect(
              TextToSpeech,
              Effect.flatMap(Server, (shared) => makeSpeech({ ...shared, model: ttsModel }))
            ).pipe(Layer.provide(server))
          }),
      ...(embeddingModel === undefined
        ? {}
        : {
            embedding: Layer.effect(
              Embedding,
              Effect.flatMap(Server, (shared) => makeEmbedding({ ...shared, model: embeddingModel }))
            ).pipe(Layer.provide(server))
          })
    }
  }
})

import { LanguageModel, type ModelDelta, type ModelRequest } from "@svc/providers/LanguageModel"
import type * as Plugin from "@svc/providers/Plugin"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, Layer, Schema, type Scope } from "effect"
import plugin from "../src/OpenAi.ts"
import { type Behaviour, type EmulatedServer, emulatedServer } from "./EmulatedServer.ts"

export const apiKey = "sk-test-0123456789"

/** What the plugin provides with these settings. */
export const provided = (
  settings: Readonly<Record<string, string>>,
  { host }: HostDouble
): Effect.Effect<Plugin.Capabilities> =>
  Effect.orDie(Effect.map(Schema.decodeUnknown(plugin.config)(settings), (decoded) => plugin.provides(decoded, host)))

/** The language model of the plugin at an emulated server. */
export const modelAt = (url: string, settings: Readonly<Record<string, string>> = {}) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const double = yield* makeHostDouble()
      const { languageModel } = yield* provided({ baseUrl: url, apiKey, model: "small", ...settings }, double)
      return languageModel ?? Layer.die("it provides no language model")
    })
  )

/** The language model with a server of its own. */
export const modelOf = (behaviour: Behaviour) =>
  Layer.unwrapScoped(Effect.map(emulatedServer(behaviour), ({ url }) => modelAt(url)))

/** A server, the plugin's model there, and its host. */
export interface Setup {
  readonly server: EmulatedServer
  readonly double: HostDouble
  readonly model: typeof LanguageModel.Service
  /** The deltas of an answer. */
  readonly ask: (
    request?: Partial<ModelRequest>
  ) => Effect.Effect<ReadonlyArray<ModelDelta>, { readonly reason: string; readonly retryable: boolean }>
}

export const setUp = (
  behaviour: Behaviour,
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<Setup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(behaviour)
    const double = yield* makeHostDouble()
    const { languageModel } = yield* provided({ baseUrl: server.url, apiKey, model: "small", ...settings }, double)
    const context = yield* Effect.orDie(Layer.build(languageModel ?? Layer.die("it provides no language model")))
    const model = yield* Effect.provide(LanguageModel, context)
    return {
      server,
      double,
      model,
      ask: (request = {}) =>
        Effect.suspend(() => {
          const deltas: Array<ModelDelta> = []
          return Effect.as(
            model.generate(
              {
                callId: "call_1",
                messages: [{ role: "user", content: "Hello" }],
                tools: [],
                variables: {},
                ...request
              },
              (delta) => deltas.push(delta)
            ),
            deltas
          )
        })
    }
  })

export const textOf = (deltas: ReadonlyArray<ModelDelta>): string =>
  deltas.map((delta) => (delta._tag === "Text" ? delta.text : "")).join("")

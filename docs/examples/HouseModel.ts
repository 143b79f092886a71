import { healthy } from "@svc/providers/Health"
import { LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import * as Plugin from "@svc/providers/Plugin"
import { Effect, Layer, Redacted, Schema } from "effect"

/** Settings: `SVC_HOUSE_URL`, `SVC_HOUSE_API_KEY`. */
const Settings = Schema.Struct({
  url: Schema.String,
  apiKey: Schema.Redacted(Schema.NonEmptyString)
})

const Answer = Schema.Struct({ text: Schema.String })

const failed = (retryable: boolean) => (cause: unknown) => new LanguageModelError({ reason: String(cause), retryable })

/** A model behind `POST <url>`: takes `{ messages }`, answers `{ text }`. */
export const layer = (settings: typeof Settings.Type): Layer.Layer<LanguageModel> =>
  Layer.succeed(LanguageModel, {
    id: "house",
    models: ["house-1"],
    health: Effect.succeed(healthy),
    generate: Effect.fn("House.generate")(function* ({ messages }, onDelta) {
      const response = yield* Effect.tryPromise({
        // The signal ends the request when the caller interrupts the agent.
        try: (signal) =>
          fetch(settings.url, {
            method: "POST",
            signal,
            headers: { authorization: `Bearer ${Redacted.value(settings.apiKey)}` },
            body: JSON.stringify({ messages })
          }),
        catch: failed(true)
      })
      if (!response.ok) return yield* failed(response.status >= 500)(`HTTP ${response.status}`)
      const body = yield* Effect.tryPromise({ try: () => response.json(), catch: failed(true) })
      const answer = yield* Schema.decodeUnknown(Answer)(body).pipe(Effect.mapError(failed(false)))
      onDelta({ _tag: "Text", text: answer.text })
      onDelta({ _tag: "Done", reason: "stop" })
    })
  })

export default Plugin.make({
  name: "house",
  apiVersion: "^1.0.0",
  config: Settings,
  provides: (settings) => ({ languageModel: layer(settings) })
})

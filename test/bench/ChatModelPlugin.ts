import { healthy } from "@svc/providers/Health"
import { LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import * as Plugin from "@svc/providers/Plugin"
import { Effect, Layer, Schema } from "effect"
import { Pool } from "undici"

/** The language model of the chat bench: hands on the first token of `ChatUpstreamProcess.ts` at `SVC_BENCH_URL`. */
export default Plugin.make({
  name: "bench",
  apiVersion: "^2.0.0",
  config: Schema.Struct({ url: Schema.String }),
  provides: ({ url }) => ({
    languageModel: Layer.scoped(
      LanguageModel,
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => new Pool(url, { pipelining: 1 })),
          (pool) => Effect.promise(() => pool.destroy())
        ),
        (pool) => ({
          id: "bench",
          models: ["bench"],
          health: Effect.succeed(healthy),
          generate: ({ messages }, onDelta) =>
            Effect.tryPromise({
              try: async (signal) => {
                const body = JSON.stringify({ messages, stream: true })
                const response = await pool.request({ path: "/", method: "POST", body, signal })
                const text = await response.body.text()
                onDelta({ _tag: "Text", text: /"content":"([^"]*)"/.exec(text)?.[1] ?? "" })
                onDelta({ _tag: "Done", reason: "stop" })
              },
              catch: (error) => new LanguageModelError({ reason: String(error), retryable: true })
            })
        })
      )
    )
  })
})

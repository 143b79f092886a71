import { readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { fileURLToPath } from "node:url"
import { expect, it } from "@effect/vitest"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import { Providers } from "@svc/providers/Providers"
import { languageModelSuite } from "@svc/providers/testing/LanguageModelSuite"
import { ConfigProvider, Context, Effect, Layer, Redacted } from "effect"
import { describe } from "vitest"
import * as PluginLoader from "../src/PluginLoader.ts"
import { layer } from "./fixtures/HouseModel.ts"

const guide = new URL("../../../docs/plugins.md", import.meta.url)
const example = new URL("./fixtures/HouseModel.ts", import.meta.url)

/** Starts a server on a free port and returns its URL; it closes with the scope. */
const serve = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(listener)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`
    })
  )

const against = (listener: RequestListener): Layer.Layer<LanguageModel> =>
  Layer.unwrapScoped(Effect.map(serve(listener), (url) => layer({ url, apiKey: Redacted.make("secret") })))

const answers: RequestListener = (request, response) => {
  const known = request.headers.authorization === "Bearer secret"
  response.writeHead(known ? 200 : 401, { "content-type": "application/json" })
  response.end(JSON.stringify({ text: "Hello!" }))
}

describe("docs/plugins.md", () => {
  it("the page shows the fixture HouseModel.ts", () => {
    const text = readFileSync(guide, "utf8")
    expect(text).toContain(`\`\`\`ts\n${readFileSync(example, "utf8")}\`\`\``)
  })

  it.scoped("the example is loaded by PluginLoader and generates text", () =>
    Effect.gen(function* () {
      const url = yield* serve(answers)
      const variables = new Map([
        ["SVC_PLUGINS", fileURLToPath(example)],
        ["SVC_HOUSE_URL", url],
        ["SVC_HOUSE_API_KEY", "secret"]
      ])
      const providers = yield* Layer.build(PluginLoader.layer({ required: ["languageModel"] })).pipe(
        Effect.map(Context.get(Providers)),
        Effect.withConfigProvider(ConfigProvider.fromMap(variables))
      )
      let text = ""
      yield* providers.languageModel[0]?.generate(
        { callId: "call_1", messages: [], tools: [], variables: {} },
        (delta) => {
          if (delta._tag === "Text") text += delta.text
        }
      ) ?? Effect.void
      expect(text).toBe("Hello!")
    })
  )
})

languageModelSuite({
  name: "the example of docs/plugins.md",
  layer: against(answers),
  text: { prompt: { messages: [{ role: "user", content: "Hello" }] }, says: "Hello!" },
  sessions: 200,
  faults: {
    refuses: against((_, response) => response.writeHead(500).end()),
    hangs: against(() => {}),
    closesEarly: against((_, response) => {
      response.writeHead(200, { "content-length": "100" })
      response.write('{"text":', () => response.destroy())
    }),
    sendsGarbage: against((_, response) => response.writeHead(200).end("<html>"))
  }
})

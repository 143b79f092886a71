import { HttpApi } from "@effect/platform"
import { expect, layer } from "@effect/vitest"
import { ChatApi } from "@svc/api/chat/ChatApi"
import { chatModel } from "@svc/api/chat/ChatCompletion"
import { HandlerRegistry } from "@svc/api/Handlers"
import { Chat } from "@svc/chat/Chat"
import { ChatHttp } from "@svc/chat/ChatHttp"
import { Context, Effect, Layer } from "effect"
import { ask } from "../servers/Client.ts"
import { startTiny } from "../servers/TinyServer.ts"

/** A server with chat completions, of which each request in these tests is refused before it reaches them. */
class Server extends Context.Tag("ChatBodyServer")<
  Server,
  (body: unknown, key?: string) => Effect.Effect<readonly [status: number, body: unknown], Error>
>() {
  static readonly layer = Layer.scoped(
    Server,
    Effect.gen(function* () {
      const chat = Layer.mock(Chat, { isAvailable: true })
      const services = yield* Layer.build(ChatHttp.pipe(Layer.provide(chat), Layer.provideMerge(HandlerRegistry.layer)))
      const groups = yield* Context.get(services, HandlerRegistry).all
      const { port } = yield* startTiny({ groups, api: HttpApi.make("chat").add(ChatApi) })
      return (body, key = "full") =>
        Effect.map(
          ask(port, { path: "/v1/chat/completions", key, body: JSON.stringify(body) }),
          ({ status, text }) => [status, JSON.parse(text)] as const
        )
    })
  )
}

const messages = [{ role: "user", content: "hello" }]
const good = { model: chatModel, messages }
const withParts = (...content: ReadonlyArray<unknown>) => ({ model: chatModel, messages: [{ role: "user", content }] })

/** The answer to one field that is wrong, which OpenAI's clients show. */
const invalid = (param: string, message: string) => [
  400,
  { code: "VALIDATION_ERROR", message, error: { message, param }, details: { [param]: message } }
]

layer(Server.layer)("the body of POST /v1/chat/completions", (it) => {
  it.effect("with another model is UNSUPPORTED_MODEL, whatever else is wrong", () =>
    Effect.gen(function* () {
      const post = yield* Server
      const model = "gpt-4o"
      const bodies = [
        { model },
        { model, messages: [] },
        { model, messages, temperature: 5 },
        { ...withParts({ type: "image_url", image_url: { url: "data:," } }), model },
        { model: "", messages: 5, stop: "" }
      ]
      for (const body of bodies) {
        expect([body, yield* post(body)]).toMatchObject([
          body,
          [400, { code: "UNSUPPORTED_MODEL", message: `model must be ${chatModel}`, error: { param: "model" } }]
        ])
      }
      expect(yield* post({ model }, "unknown")).toMatchObject([401, { code: "INVALID_API_KEY" }])
    })
  )

  it.effect("without a model, or with one that is no string, is VALIDATION_ERROR", () =>
    Effect.gen(function* () {
      const post = yield* Server
      expect(yield* post({ messages })).toMatchObject(invalid("model", "model is required."))
      for (const model of [5, null, ["gpt-4o"]]) {
        expect(yield* post({ model, messages })).toMatchObject(invalid("model", "model must be a string"))
      }
      for (const body of [null, [], "gpt-4o", ["gpt-4o"]]) {
        expect(yield* post(body)).toMatchObject(invalid("body", "body must be an object"))
      }
      const details = { model: "model is required.", messages: "messages is required." }
      expect(yield* post({})).toMatchObject([400, { message: "Several fields are not valid", details }])
    })
  )

  it.effect("with a part of a message that is an image, audio or a file says that it is not supported", () =>
    Effect.gen(function* () {
      const post = yield* Server
      const kinds = [
        ["image_url", "images are"],
        ["input_image", "images are"],
        ["input_audio", "audio is"],
        ["file", "files are"]
      ] as const
      const field = "messages.0.content.1.type"
      for (const [type, what] of kinds) {
        const part = { type, [type]: { url: "data:," } }
        const answer = yield* post(withParts({ type: "text", text: "What is this?" }, part, part))
        const message = `${field} must be text: ${what} not supported, send text parts`
        expect(answer).toMatchObject(invalid(field, message))
        expect(answer).toHaveProperty("1.details", { [field]: message })
      }
    })
  )

  it.effect("with a part of an unknown type names the type alone", () =>
    Effect.gen(function* () {
      const post = yield* Server
      const field = "messages.0.content.0.type"
      expect(yield* post(withParts({ type: "texts" }))).toMatchObject(invalid(field, `${field} must be text`))
      const missing = "messages.0.content.0.text"
      expect(yield* post(withParts({ type: "text" }))).toMatchObject(invalid(missing, `${missing} is required.`))
    })
  )

  it.effect("with empty messages or an empty stop says that they must not be empty", () =>
    Effect.gen(function* () {
      const post = yield* Server
      const cases = [
        ["messages", { ...good, messages: [] }, "messages must have at least 1 item"],
        ["stop", { ...good, stop: "" }, "stop must not be empty"],
        ["stop.1", { ...good, stop: ["a", ""] }, "stop.1 must not be empty"]
      ] as const
      for (const [field, body, message] of cases) expect(yield* post(body)).toMatchObject(invalid(field, message))
    })
  )
})

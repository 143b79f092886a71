import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Either, Layer } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import * as BrowserPhone from "../src/blackbox/BrowserPhone.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const { textAt } = ApiClient

/** A server with the plugin. */
class Server extends Context.Tag("@svc/test/BrowserCallsServer")<Server, ServerProcess.ServerProcess>() {
  static readonly layer = Layer.scoped(
    Server,
    Effect.gen(function* () {
      const keys = yield* ServerProcess.newKeys
      const url = yield* TestDatabase.freshUrl
      const env = { SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-browser" }
      return yield* ServerProcess.start({ data: { url }, keys, env })
    })
  )
}

const script = {
  rules: [
    { user: "order", tool: "find_order", arguments: { id: 7 } },
    { tool_result: "find_order", say: "It is on its way." }
  ],
  otherwise: "Ok {{user}}."
}
const tool = { name: "find_order", description: "Finds", parameters: { type: "object", properties: {} } }

/** An agent with a number, and a function that makes links; `url` is where this server has its page. */
const agent = Effect.gen(function* () {
  const server = yield* Server
  const line = yield* Line.open(server, ({ event }) =>
    event === "tool.call" ? { json: { result: {} } } : Line.configuration(script, { tools: [tool] })
  )
  const link = (body: unknown = {}) =>
    Effect.map(server.api.post(`/v1/agents/${line.agentId}/browser-calls`, body), (reply) => ({
      reply,
      url: `${server.url}/telephony/browser/${ApiClient.at(reply.body, "token")}`
    }))
  const callsOf = Effect.map(server.api.get(`/v1/calls?agent_id=${line.agentId}`), ({ body }) => body["calls"])
  return { server, line, link, callsOf }
})

const status = (url: string, method = "GET") => Effect.map(ApiClient.call(url, method), (reply) => reply.status)
/** The status with which a start of a call is refused, or the page. */
const start = (url: string) => Effect.either(BrowserPhone.connect(url))

layer(Server.layer, { timeout: "90 seconds", excludeTestServices: true })("Browser calls", (it) => {
  it.scoped("POST browser-calls answers with a link, and refuses fields that are wrong", () =>
    Effect.gen(function* () {
      const { line, link, server } = yield* agent
      const before = Date.now()
      const { reply, url } = yield* link()
      expect(reply.status).toBe(201)
      const token = textAt(reply.body, "token")
      expect(reply.body).toEqual({
        // The server chose its port itself, so it does not know its address.
        url: `/telephony/browser/${token}`,
        token: expect.stringMatching(/^[\w-]{32}$/),
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
      })
      const expires = Date.parse(textAt(reply.body, "expires_at")) - before
      expect(Math.abs(expires - 3_600_000)).toBeLessThan(60_000)
      const page = yield* ApiClient.call(url, "GET")
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
      const head = yield* ApiClient.call(url, "HEAD")
      expect([head.status, head.text, head.headers.get("content-length")]).toEqual([
        200,
        "",
        page.headers.get("content-length")
      ])
      for (const [body, field, message] of [
        [{ from: "12" }, "from", "must be a valid E.164 phone number"],
        [{ expires_in: 59 }, "expires_in", "expires_in must be between 60 and 86400"],
        [{ expires_in: 86_401 }, "expires_in", "expires_in must be between 60 and 86400"],
        [{ max_calls: 0 }, "max_calls", "max_calls must be between 1 and 1000"],
        [{ max_calls: 1.5 }, "max_calls", "max_calls must be between 1 and 1000"],
        [{ metadata: [] }, "metadata", "metadata must be an object"],
        [{ metadata: { a: { b: { c: { d: { e: {} } } } } } }, "metadata", "metadata must not exceed 5 levels"]
      ] as const) {
        const { reply } = yield* link(body)
        expect([reply.status, reply.body["code"], reply.body["details"]]).toEqual([
          400,
          "VALIDATION_ERROR",
          { [field]: message }
        ])
      }
      const unknown = yield* server.api.post("/v1/agents/agent_000000000000000000000000/browser-calls", {})
      expect([unknown.status, unknown.body["code"]]).toEqual([404, "AGENT_NOT_FOUND"])
      const none = yield* ApiClient.call(`${server.url}/v1/agents/${line.agentId}/browser-calls`, "POST", { json: {} })
      expect([none.status, none.body["code"]]).toEqual([401, "MISSING_API_KEY"])
      const byOrg = ApiClient.make(server.url, server.keys.org)
      expect((yield* byOrg.post(`/v1/agents/${line.agentId}/browser-calls`, {})).body["code"]).toBe(
        "PROJECT_ID_REQUIRED"
      )
    })
  )

  it.scoped("a page talks with the agent, sees what it does, and its call is recorded as any other", () =>
    Effect.gen(function* () {
      const { line, link, server } = yield* agent
      const { url } = yield* link({ from: "+15550009999", metadata: { crm: 7 } })
      const page = yield* BrowserPhone.connect(url)
      const callId = String((yield* page.until("ringing"))["call_id"])
      yield* page.until("answered")
      yield* page.hears("Hello.")
      page.say("Hi")
      yield* page.hears("Ok Hi.")
      page.say("my order")
      yield* page.hears("It is on its way.")
      const of = (event: string, field: string) =>
        page.inbox.all.flatMap((message) => (message.event === event ? [message[field]] : []))
      expect(of("activity", "activity")).toEqual(
        expect.arrayContaining(["speaking", "listening", "thinking", "using-tool"])
      )
      expect(page.inbox.all.flatMap((m) => (m.event === "said" ? [`${m["role"]}: ${m["text"]}`] : []))).toEqual([
        "agent: Hello.",
        "caller: Hi",
        "agent: Ok Hi.",
        "caller: my order"
      ])
      expect(of("latency", "ms")).toHaveLength(2)
      page.leave()
      yield* CallRecords.settled(server.api, callId)
      const { body } = yield* server.api.get(`/v1/calls/${callId}`)
      expect(body).toMatchObject({
        status: "completed",
        disposition: "answered",
        ended_reason: "caller-hangup",
        from_number: "+15550009999",
        to_number: line.number,
        metadata: { crm: 7 },
        line: { telephony: "browser", codec: "L16" }
      })
      expect(line.customer.of("call.started").map(({ body }) => body)).toContainEqual(
        expect.objectContaining({ event: "call.started", from: "+15550009999", to: line.number })
      )
      // Used up.
      expect(yield* status(url)).toBe(404)
      expect(yield* start(url)).toEqual(Either.left({ status: 404 }))
    })
  )

  it.scoped("line.codec is known when the call was answered, before the agent has finished its first turn", () =>
    Effect.gen(function* () {
      const server = yield* Server
      const first_message = "This is a long greeting. ".repeat(20)
      const line = yield* Line.open(server, () => Line.configuration(script, { first_message }))
      const { body: link } = yield* server.api.post(`/v1/agents/${line.agentId}/browser-calls`, {})
      const page = yield* BrowserPhone.connect(`${server.url}/telephony/browser/${textAt(link, "token")}`)
      const callId = String((yield* page.until("ringing"))["call_id"])
      yield* page.until("answered")
      const { body } = yield* eventually(
        "the answered call",
        server.api.get(`/v1/calls/${callId}`),
        ({ body }) => body["status"] === "in-progress"
      )
      expect([ApiClient.at(body, "line.codec"), body["transcript"]]).toEqual(["L16", []])
      page.leave()
    })
  )

  it.scoped("max_calls counts calls that start, also when several start at once", () =>
    Effect.gen(function* () {
      const { callsOf, link } = yield* agent
      const { url } = yield* link({ max_calls: 2 })
      const started = yield* Effect.all(
        Array.from({ length: 6 }, () => start(url)),
        { concurrency: "unbounded" }
      )
      const pages = started.flatMap((page) => (Either.isRight(page) ? [page.right] : []))
      // The others are refused before the upgrade.
      expect(started.flatMap((page) => (Either.isLeft(page) ? [page.left] : []))).toEqual(
        Array.from({ length: 4 }, () => ({ status: 404 }))
      )
      const outcomes = yield* Effect.forEach(
        pages,
        ({ inbox }) => inbox.find("the outcome", ({ event }) => event === "answered" || event === "refused"),
        { concurrency: "unbounded" }
      )
      expect(outcomes.filter(({ event }) => event === "answered")).toHaveLength(2)
      expect(outcomes.filter(({ event }) => event === "refused")).toEqual(
        Array.from({ length: pages.length - 2 }, () => ({ event: "refused", cause: "declined" }))
      )
      expect(yield* callsOf).toHaveLength(2)
      expect(yield* status(url)).toBe(404)
    })
  )

  it.scoped("a link that was altered, or whose agent was deleted, is a 404 page for GET, HEAD and calls", () =>
    Effect.gen(function* () {
      const { line, link, server } = yield* agent
      const { url } = yield* link({ max_calls: 1000 })
      const last = url.endsWith("A") ? "B" : "A"
      const slash = yield* ApiClient.call(`${url}/`, "GET")
      expect([slash.status, slash.text.includes("This link does not work")]).toEqual([404, true])
      for (const wrong of [url.slice(0, -1) + last, url.slice(0, -1), `${url}A`, `${server.url}/telephony/browser/x`]) {
        const page = yield* ApiClient.call(wrong, "GET")
        expect([page.status, page.text.includes("This link does not work")]).toEqual([404, true])
        expect(yield* start(wrong)).toEqual(Either.left({ status: 404 }))
      }
      expect(yield* status(url)).toBe(200)
      expect((yield* server.api.request("DELETE", `/v1/agents/${line.agentId}`)).status).toBe(200)
      expect([yield* status(url), yield* status(url, "HEAD")]).toEqual([404, 404])
      expect(yield* start(url)).toEqual(Either.left({ status: 404 }))
      const gone = yield* link()
      expect([gone.reply.status, gone.reply.body["code"]]).toEqual([404, "AGENT_NOT_FOUND"])
    })
  )

  it.scoped("a page that lost its network goes on within 10 s, and the agent answers it", () =>
    Effect.gen(function* () {
      const { link, server } = yield* agent
      const { url } = yield* link()
      const page = yield* BrowserPhone.connect(url)
      const callId = String((yield* page.until("ringing"))["call_id"])
      const key = page.inbox.all[0]?.["resume"]
      yield* page.hears("Hello.")
      page.drop()
      yield* page.closed
      const again = yield* BrowserPhone.connect(url, { key: String(key), received: page.received() })
      yield* again.until("resumed")
      again.say("Back")
      yield* again.hears("Ok Back.")
      // Its audio comes ahead of time: it was played when the page shows it.
      yield* again.inbox.next("said", (message) => message.event === "said" && message["text"] === "Ok Back.")
      again.send({ event: "hangup" })
      yield* again.until("ended")
      yield* CallRecords.settled(server.api, callId)
      const { body } = yield* server.api.get(`/v1/calls/${callId}`)
      expect(CallRecords.spoken(body)).toEqual(["assistant: Hello.", "user: Back", "assistant: Ok Back."])
    })
  )
})

import { expect, it, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const shown = (body: unknown, path: string): ReadonlyArray<string> => {
  const messages = at(body, path)
  return Array.isArray(messages)
    ? messages.map((one: unknown) => `${at(one, "tool_name") ?? at(one, "role")}: ${at(one, "content")}`)
    : []
}

const script = {
  rules: [
    { user: "gold", say: "Let me look.", tool: "lookup" },
    { tool_result: "lookup", say: "I got {{result.error}}{{result.price}}." }
  ],
  otherwise: "You said {{user}}."
}

it.scopedLive(
  "a test session of a server that is killed in the middle of a turn goes on on the next server",
  () =>
    Effect.gen(function* () {
      const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys }
      const server = yield* ServerProcess.start(options)
      const line = yield* Line.open(server, ({ event }) => {
        if (event === "call.started") {
          return Line.configuration(script, { tools: [{ name: "lookup", timeout_seconds: 100 }] })
        }
        return event === "tool.call" ? undefined : { json: {} }
      })
      const created = yield* server.api.post("/v1/test-sessions", { agent_id: line.agentId })
      expect([created.status, shown(created.body, "test_session.messages")]).toEqual([201, ["assistant: Hello."]])
      const path = `/v1/test-sessions/${textAt(created.body, "test_session.id")}`
      const first = yield* server.api.post(`${path}/message`, { content: "Hi" })
      expect([first.status, first.body["ended"]]).toEqual([200, false])
      yield* Effect.forkScoped(Effect.ignore(Effect.sandbox(server.api.post(`${path}/message`, { content: "gold" }))))
      yield* line.customer.until("tool.call")
      yield* eventually("the turn so far", server.api.get(path), ({ body }) =>
        shown(body, "test_session.messages").includes("user: gold")
      )
      yield* server.signal("SIGKILL")
      yield* server.exit()

      const next = yield* ServerProcess.start(options)
      const resumed = yield* next.api.post(`${path}/message`, { content: "Still there?" })
      expect([resumed.status, shown(resumed.body, "messages").slice(-2)]).toEqual([
        200,
        ["user: Still there?", "assistant: You said Still there?."]
      ])
      const messages = shown((yield* next.api.get(path)).body, "test_session.messages")
      expect(messages).toEqual([
        "assistant: Hello.",
        "user: Hi",
        "assistant: You said Hi.",
        "user: gold",
        "assistant: Let me look.",
        'lookup: {"error":"the server restarted before the outcome was known"}',
        "assistant: I got the server restarted before the outcome was known.",
        "user: Still there?",
        "assistant: You said Still there?."
      ])
      expect((yield* next.api.request("DELETE", path)).body).toEqual({ deleted: true })
      const late = yield* next.api.post(`${path}/message`, { content: "Hi" })
      expect([late.status, late.body["code"]]).toEqual([409, "TEST_SESSION_ENDED"])
    }),
  { concurrent: true, timeout: 120_000 }
)

const conversation = {
  rules: [
    { user: "gold", say: "Let me look.", tool: "lookup" },
    { tool_result: "lookup", say: "It is {{result.price}}." },
    { user: "pin", tool: "check" },
    { tool_result: "check", say: "Your pin is {{result.pin}}." },
    { user: "bye", tool: "end_call" }
  ],
  otherwise: "You said {{user}}."
}

/** An agent that answers by the script, and a session with it. */
const begun = Effect.gen(function* () {
  const { api, url } = yield* BlackBox
  const line = yield* Line.open(
    { api, url },
    ({ body, event }) => {
      if (event === "call.started") {
        return Line.configuration(conversation, {
          end_session_message: "So long.",
          tools: [{ name: "lookup" }, { name: "check", gather: { prompt: "Your pin please.", max_digits: 4 } }]
        })
      }
      if (event !== "tool.call") return { json: {} }
      const pin = at(body, "arguments.gathered_input")
      return { json: { result: at(body, "name") === "lookup" ? { price: 42 } : { pin } } }
    },
    { end_call_enabled: true }
  )
  const created = yield* api.post("/v1/test-sessions", { agent_id: line.agentId, from: Line.caller })
  const path = `/v1/test-sessions/${textAt(created.body, "test_session.id")}`
  return {
    ...line,
    api,
    created,
    path,
    send: (message: unknown) => api.post(`${path}/message`, message),
    read: api.get(path),
    remove: api.request("DELETE", path)
  }
})

const outcome = ({ body, status }: ApiClient.Reply) => [status, body["code"]]

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("A test session over HTTP", (it) => {
  it.scoped("begins with the greeting, takes texts, digits and tools, and ends by end_call", () =>
    Effect.gen(function* () {
      const { agentId, api, created, customer, number, path, read, send } = yield* begun
      expect([created.status, created.body]).toEqual([
        201,
        {
          test_session: {
            id: expect.stringMatching(/^ts_[0-9a-z]{24}$/),
            agent_id: agentId,
            status: "active",
            messages: [{ role: "assistant", content: "Hello.", timestamp: expect.any(String) }],
            created_at: expect.any(String),
            ended_at: null
          }
        }
      ])
      const started = yield* customer.until("call.started")
      expect(started.body).toMatchObject({
        call_id: at(created.body, "test_session.id"),
        from: Line.caller,
        to: number
      })
      const turns = [
        yield* send({ content: "Hi" }),
        yield* send({ content: "What does gold cost?" }),
        yield* send({ content: "pin" }),
        yield* send({ digits: "1234" }),
        yield* send({ content: "bye" })
      ]
      expect(turns.map(({ body, status }) => [status, body["ended"], shown(body, "messages")])).toEqual([
        [200, false, ["user: Hi", "assistant: You said Hi."]],
        [
          200,
          false,
          ["user: What does gold cost?", "assistant: Let me look.", 'lookup: {"price":42}', "assistant: It is 42."]
        ],
        [200, false, ["user: pin", "assistant: Your pin please."]],
        [200, false, ["user: 1234", 'check: {"pin":"1234"}', "assistant: Your pin is 1234."]],
        [200, true, ["user: bye", expect.stringMatching(/^end_call: /), "assistant: So long."]]
      ])
      expect(at(turns[1]?.body, "messages.2")).toEqual({
        role: "tool",
        content: '{"price":42}',
        timestamp: expect.any(String),
        tool_name: "lookup"
      })
      const detailed = yield* api.get(`${path}?include=tools`)
      expect(at(detailed.body, "test_session.messages.5")).toEqual({
        role: "tool",
        content: '{"price":42}',
        timestamp: expect.any(String),
        tool_name: "lookup",
        arguments: {},
        duration_ms: expect.any(Number)
      })
      expect(outcome(yield* api.get(`${path}?include=all`))).toEqual([400, "VALIDATION_ERROR"])
      const after = yield* read
      expect([after.status, after.body]).toMatchObject([
        200,
        { test_session: { status: "ended", ended_at: expect.any(String) } }
      ])
      expect(shown(after.body, "test_session.messages")).toEqual([
        "assistant: Hello.",
        ...turns.flatMap(({ body }) => shown(body, "messages"))
      ])
      expect(outcome(yield* send({ content: "Hello?" }))).toEqual([409, "TEST_SESSION_ENDED"])
    })
  )

  it.scoped("is ended by DELETE, also twice, and can be read afterwards", () =>
    Effect.gen(function* () {
      const { read, remove, send } = yield* begun
      for (const deleted of [yield* remove, yield* remove]) {
        expect([deleted.status, deleted.body]).toEqual([200, { deleted: true }])
      }
      expect(at((yield* read).body, "test_session.status")).toBe("ended")
      expect(outcome(yield* send({ digits: "1" }))).toEqual([409, "TEST_SESSION_ENDED"])
    })
  )

  it.scoped("refuses bodies that are not exactly one of content and digits, and leaves the session unchanged", () =>
    Effect.gen(function* () {
      const { created, read, send } = yield* begun
      const refused = [
        {},
        { content: "Hi", digits: "1" },
        { content: " " },
        { content: "x".repeat(4001) },
        { content: 1 },
        { digits: "" },
        { digits: "12a" },
        { digits: "1".repeat(33) }
      ]
      for (const body of refused)
        expect(outcome(yield* send(body)), JSON.stringify(body)).toEqual([400, "VALIDATION_ERROR"])
      expect((yield* read).body).toEqual(created.body)
    })
  )

  it.scoped("is unknown to other projects, as are sessions and agents that do not exist", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* BlackBox
      const { agentId, api, path, read } = yield* begun
      const byOrg = ApiClient.make(url, keys.org)
      const project = textAt((yield* byOrg.post("/v1/org/projects", { name: "Other" })).body, "id")
      const made = yield* byOrg.post(`/v1/org/projects/${project}/api-keys`, { scope: "full" })
      const other = ApiClient.make(url, Redacted.make(textAt(made.body, "key")))
      const unknown = "/v1/test-sessions/ts_000000000000000000000000"
      for (const [client, unseen] of [
        [other, path] as const,
        [api, unknown] as const,
        [api, "/v1/test-sessions/x"] as const
      ]) {
        const replies = [
          yield* client.get(unseen),
          yield* client.post(`${unseen}/message`, { content: "Hi" }),
          yield* client.request("DELETE", unseen)
        ]
        expect(replies.map(outcome), unseen).toEqual(replies.map(() => [404, "TEST_SESSION_NOT_FOUND"]))
      }
      expect(outcome(yield* other.post("/v1/test-sessions", { agent_id: agentId }))).toEqual([404, "AGENT_NOT_FOUND"])
      expect(outcome(yield* api.post("/v1/test-sessions", { agent_id: "agent_x" }))).toEqual([404, "AGENT_NOT_FOUND"])
      expect(at((yield* read).body, "test_session.status")).toBe("active")
    })
  )

  it.scoped("is read and not written by a read key", () =>
    Effect.gen(function* () {
      const { url } = yield* BlackBox
      const { agentId, api, created, path } = yield* begun
      const made = yield* api.post("/v1/project/api-keys", { scope: "read" })
      const reader = ApiClient.make(url, Redacted.make(textAt(made.body, "key")))
      const refused = [
        yield* reader.post("/v1/test-sessions", { agent_id: agentId }),
        yield* reader.post(`${path}/message`, { content: "Hi" }),
        yield* reader.request("DELETE", path)
      ]
      expect(refused.map(outcome)).toEqual(refused.map(() => [403, "READ_ONLY_KEY"]))
      const read = yield* reader.get(path)
      expect([read.status, read.body]).toEqual([200, created.body])
    })
  )

  it.scoped("is over when its agent is deleted", () =>
    Effect.gen(function* () {
      const { agentId, api, read, remove, send } = yield* begun
      expect((yield* api.request("DELETE", `/v1/agents/${agentId}`)).status).toBe(200)
      const late = yield* send({ content: "Hi" })
      expect([...outcome(late), late.body["error"]]).toEqual([
        409,
        "TEST_SESSION_ENDED",
        "the test session has ended: the agent was deleted. Create another"
      ])
      expect(at((yield* read).body, "test_session.status")).toBe("ended")
      expect((yield* remove).body).toEqual({ deleted: true })
    })
  )
})

import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { Effect, Either, Layer, Option } from "effect"
import { TestSessions } from "../../src/test-sessions/TestSessions.ts"
import { sign } from "../../src/testing/AgentServerDouble.ts"
import { agentOnNumber, Base, configuration, Engine, until } from "../doubles/Engine.ts"

const Test = Layer.provideMerge(Engine, Base)

/** Messages as `role: content`, the name of a tool in place of the role `tool`. */
const shown = (messages: ReadonlyArray<TestSessionMessage>): ReadonlyArray<string> =>
  messages.map(({ content, role, tool_name }) => `${tool_name ?? role}: ${content}`)

const script = {
  rules: [
    { user: "gold", say: "Let me look.", tool: "lookup", arguments: { what: "gold" } },
    { tool_result: "lookup", say: "It is {{result.price}}." },
    { user: "pin", tool: "check" },
    { tool_result: "check", say: "Pin: {{result.input}}, {{result.status}}." },
    { user: "text me", tool: "svc_send_sms", arguments: { to: "+31201234567", message: "Hi" } },
    { tool_result: "svc_send_sms", say: "It is {{result.status}}." },
    { user: "sales", say: "One moment.", tool: "transfer_call", arguments: { destination: "sales" } },
    { user: "thanks", say: "👍" },
    { user: "bye", tool: "end_call", arguments: { disposition: "resolved" } }
  ],
  otherwise: "You said {{user}}."
}

const answer = {
  end_session_message: "So long.",
  tools: [
    { name: "lookup" },
    { name: "check", gather: { prompt: "Your pin please.", max_digits: 4, timeout_seconds: 5 } },
    { name: "svc_send_sms" }
  ],
  transfer_destinations: { sales: "+31201234567" },
  inactivity_timeout: 1,
  max_duration: 60
}

/** An agent that answers by the script. */
const scripted = (more: Readonly<Record<string, unknown>> = {}) =>
  agentOnNumber(({ body, event }) => {
    if (event === "call.started") return configuration(script, { ...answer, ...more })
    if (event !== "tool.call") return { json: {} }
    const given = Object(body["arguments"])
    return {
      json: {
        result: body["name"] === "lookup" ? { price: 42 } : { input: given.gathered_input, status: given.gather_status }
      }
    }
  })

const begun = (more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const sessions = yield* TestSessions
    const line = yield* scripted(more)
    const session = yield* sessions.create(line.owner, { agent_id: line.agent.public_id, from: "+15550100100" })
    return {
      ...line,
      session,
      say: (content: string) => sessions.message(line.project, session.id, { content }),
      press: (digits: string) => sessions.message(line.project, session.id, { digits }),
      now: sessions.get(line.project, session.id)
    }
  })

layer(Test, { timeout: "60 seconds", excludeTestServices: true })("a test session", (it) => {
  it.scoped("asks the agent's server as a call does and answers with the greeting, turns, tools and the end", () =>
    Effect.gen(function* () {
      const { agent, now, number, say, secret, server, session } = yield* begun()
      expect(session).toMatchObject({ agent_id: agent.public_id, status: "active", ended_at: null })
      expect(session.id).toMatch(/^ts_[0-9a-z]{24}$/)
      expect(shown(session.messages)).toEqual(["assistant: Hello."])
      const turns = [yield* say("Hi"), yield* say("What does gold cost?"), yield* say("bye")]
      expect(turns.map(({ ended, messages }) => [...shown(messages), ended])).toEqual([
        ["user: Hi", "assistant: You said Hi.", false],
        [
          "user: What does gold cost?",
          "assistant: Let me look.",
          'lookup: {"price":42}',
          "assistant: It is 42.",
          false
        ],
        ["user: bye", expect.stringMatching(/^end_call: /), "assistant: So long.", true]
      ])
      const after = yield* now
      expect(after).toMatchObject({ status: "ended", ended_at: expect.any(String) })
      expect(after.messages).toEqual([...session.messages, ...turns.flatMap(({ messages }) => messages)])
      const told = yield* until(
        Effect.sync(() => server.received),
        (all) => all.filter(({ event }) => event === "transcript.updated").length === 8
      )
      const asked = told.filter(({ event }) => event !== "transcript.updated")
      expect(asked.map(({ event }) => event)).toEqual(["call.started", "tool.call"])
      expect(asked[0]?.body).toMatchObject({ call_id: session.id, from: "+15550100100", to: number })
      for (const { headers, raw } of told) expect(headers["x-svc-signature"]).toBe(sign(secret, raw))
      const late = yield* Effect.flip(say("Hello?"))
      expect([late._tag, late.message]).toEqual([
        "TestSessionEnded",
        "the test session has ended: the agent ended it. Create another"
      ])
    })
  )

  it.scoped("answers with signs that could not be spoken", () =>
    Effect.gen(function* () {
      const { say } = yield* begun()
      const turns = [yield* say("thanks"), yield* say("thanks"), yield* say("Hi")]
      expect(turns.flatMap(({ messages }) => shown(messages))).toEqual([
        "user: thanks",
        "assistant: 👍",
        "user: thanks",
        "assistant: 👍",
        "user: Hi",
        "assistant: You said Hi."
      ])
    })
  )

  it.scoped("writes no call, no event and no charge, and takes no slot", () =>
    Effect.gen(function* () {
      const { project, say } = yield* begun()
      yield* say("Hi")
      yield* say("bye")
      const sql = yield* SqlClient.SqlClient
      const written = yield* sql`
        select 1 from calls where project_id = ${project.id}
        union all select 1 from events where project_id = ${project.id} and event like 'call.%'
        union all select 1 from ledger_entries`
      expect(written).toEqual([])
    })
  )

  it.scoped("takes digits for the gather of a tool, also over several messages; words let its time pass", () =>
    Effect.gen(function* () {
      const { press, say } = yield* begun()
      expect(shown((yield* say("pin")).messages)).toEqual(["user: pin", "assistant: Your pin please."])
      expect(shown((yield* press("12")).messages)).toEqual(["user: 12"])
      expect(shown((yield* press("34")).messages)).toEqual([
        "user: 34",
        'check: {"input":"1234","status":"valid"}',
        "assistant: Pin: 1234, valid."
      ])
      yield* say("pin")
      yield* press("1")
      const silent = shown((yield* say("I forgot it")).messages)
      expect(silent.slice(0, 2)).toEqual(["user: I forgot it", 'check: {"input":"1","status":"timeout"}'])
      expect(silent.length).toBeGreaterThan(2)
    })
  )

  it.scoped(
    "has the menu of pre_gather before its conversation, and repeats it when words come in place of digits",
    () =>
      Effect.gen(function* () {
        const sessions = yield* TestSessions
        const line = yield* agentOnNumber(({ body, event }) => {
          if (event !== "call.started") return { json: {} }
          const digit = body["gathered_digit"]
          return digit === null && body["gather_status"] === null
            ? { json: { pre_gather: { prompt: "Press one.", digits: 1, max_retries: 2 } } }
            : configuration(script, { first_message: `You pressed ${digit}.` })
        })
        const { id, messages } = yield* sessions.create(line.owner, { agent_id: line.agent.id })
        expect(shown(messages)).toEqual(["assistant: Press one."])
        const again = yield* sessions.message(line.project, id, { content: "What?" })
        expect(shown(again.messages)).toEqual(["user: What?", "assistant: Press one."])
        const pressed = yield* sessions.message(line.project, id, { digits: "1" })
        expect(shown(pressed.messages)).toEqual(["user: 1", "assistant: You pressed 1."])
      })
  )

  it.scoped("simulates text messages and transfers: none is sent, and a transfer ends the session", () =>
    Effect.gen(function* () {
      const { project, say } = yield* begun({ post_call: { sms: { to: "caller", message: "Bye" } } })
      const text = yield* say("text me")
      expect(shown(text.messages)).toEqual([
        "user: text me",
        'svc_send_sms: {"simulated":true,"result":{"to":"+31201234567","status":"sent","message_id":"simulated"}}',
        "assistant: It is sent."
      ])
      const sales = yield* say("sales")
      expect(shown(sales.messages)).toEqual([
        "user: sales",
        "assistant: One moment.",
        'transfer_call: {"simulated":true,"result":{"status":"transferred","destination":"+31201234567"}}'
      ])
      expect(sales.ended).toBe(true)
      const sql = yield* SqlClient.SqlClient
      expect(yield* sql`select 1 from sms_messages where project_id = ${project.id}`).toEqual([])
    })
  )

  it.scoped("is ended by DELETE with the farewell, and again without an effect", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const { now, project, say, session } = yield* begun()
      yield* sessions.end(project, session.id)
      const ended = yield* now
      expect([ended.status, shown(ended.messages)]).toEqual(["ended", ["assistant: Hello.", "assistant: So long."]])
      yield* sessions.end(project, session.id)
      expect(yield* now).toEqual(ended)
      expect((yield* Effect.flip(say("Hi")))._tag).toBe("TestSessionEnded")
    })
  )

  it.scoped("answers messages that are sent at once one after the other", () =>
    Effect.gen(function* () {
      const { now, say, session } = yield* begun()
      const turns = yield* Effect.all([say("one"), say("two"), say("three")], { concurrency: "unbounded" })
      expect(turns.map(({ messages }) => shown(messages))).toEqual(
        ["one", "two", "three"].map((text) => [`user: ${text}`, `assistant: You said ${text}.`])
      )
      expect((yield* now).messages).toHaveLength(session.messages.length + 6)
    })
  )

  it.scoped("finishes the turn of a client that disconnects", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const answers = yield* Effect.makeLatch()
      const line = yield* agentOnNumber(({ event }) => {
        if (event === "call.started") return configuration(script, answer)
        if (event !== "tool.call") return { json: {} }
        return {
          write: (res) => {
            Effect.runFork(
              Effect.zipRight(
                answers.await,
                Effect.sync(() => res.end(JSON.stringify({ result: { price: 7 } })))
              )
            )
          }
        }
      })
      const { id } = yield* sessions.create(line.owner, { agent_id: line.agent.id })
      const gone = sessions.message(line.project, id, { content: "gold" }).pipe(
        Effect.raceFirst(
          until(
            Effect.sync(() => line.server.received),
            (all) => all.some((r) => r.event === "tool.call")
          )
        )
      )
      yield* gone
      yield* answers.open
      const session = yield* until(sessions.get(line.project, id), ({ messages }) =>
        shown(messages).includes("assistant: It is 7.")
      )
      expect(session.status).toBe("active")
    })
  )

  it.scoped("has stored that it calls a tool before it calls it, so that no server calls it again", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const sql = yield* SqlClient.SqlClient
      // Makes the journal slower than the request.
      yield* sql`
        create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.5); return new; end'`
      yield* sql`
        create trigger slow before insert on test_session_journal for each row
        when (new.input->>'_tag' = 'ModelToolCalls') execute function slow()`
      yield* Effect.addFinalizer(() => Effect.orDie(sql`drop function slow cascade`))
      const line = yield* agentOnNumber(({ event }) => {
        if (event === "call.started") return configuration(script, answer)
        if (event !== "tool.call") return { json: {} }
        return {
          write: (res) => {
            Effect.runFork(
              Effect.map(
                sql`select 1 from test_session_journal where input->>'_tag' = 'ModelToolCalls'
                  and session_id = (select max(id) from test_sessions)`,
                (rows) => res.end(JSON.stringify({ result: { price: rows.length } }))
              )
            )
          }
        }
      })
      const { id } = yield* sessions.create(line.owner, { agent_id: line.agent.id })
      const { messages } = yield* sessions.message(line.project, id, { content: "gold" })
      expect(shown(messages).at(-1)).toBe("assistant: It is 1.")
    })
  )

  it.scoped("ends when it had no message for 30 minutes, and is deleted 30 days later", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const sql = yield* SqlClient.SqlClient
      const { now, say, session } = yield* begun()
      yield* sql`update test_sessions set active_at = now() - interval '29 minutes' where public_id = ${session.id}`
      yield* sessions.sweep
      expect((yield* now).status).toBe("active")
      yield* sql`update test_sessions set active_at = now() - interval '31 minutes' where public_id = ${session.id}`
      yield* sessions.sweep
      expect((yield* now).status).toBe("ended")
      expect((yield* Effect.flip(say("Hi"))).message).toBe(
        "the test session has ended: it had no message for 30 minutes. Create another"
      )
      yield* sql`update test_sessions set ended_at = now() - interval '31 days' where public_id = ${session.id}`
      yield* sessions.sweep
      expect((yield* Effect.flip(now))._tag).toBe("TestSessionNotFound")
    })
  )

  it.scoped("is refused with the reason when the agent's server gives no configuration", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const line = yield* agentOnNumber(() => ({ json: { first_message: "Hi" } }))
      const refused = yield* Effect.flip(sessions.create(line.owner, { agent_id: line.agent.id }))
      expect([refused._tag, refused.message]).toEqual(["TestSessionFailed", expect.stringContaining("system_prompt")])
    })
  )

  it.scoped("is one of at most 200 active sessions of a project, also when many are begun at once", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const line = yield* scripted()
      const create = Effect.either(sessions.create(line.owner, { agent_id: line.agent.id }))
      // More at once would exceed the time limit of call.started on a busy machine.
      const made = yield* Effect.replicateEffect(create, 202, { concurrency: 40 })
      const ids = made.flatMap((one) => Option.toArray(Either.getRight(one)))
      expect(ids).toHaveLength(200)
      expect(new Set(made.flatMap((one) => (one._tag === "Left" ? [one.left._tag] : [])))).toEqual(
        new Set(["TestSessionLimitExceeded"])
      )
      yield* sessions.end(line.project, ids[0]?.id ?? "")
      expect((yield* create)._tag).toBe("Right")
    })
  )

  it.scoped("is found only in its project; content and digits exclude each other", () =>
    Effect.gen(function* () {
      const sessions = yield* TestSessions
      const { project, session } = yield* begun()
      const other = yield* scripted()
      const tag = <A>(effect: Effect.Effect<A, { readonly _tag: string }>) =>
        Effect.map(Effect.flip(effect), ({ _tag }) => _tag)
      expect(yield* tag(sessions.get(other.project, session.id))).toBe("TestSessionNotFound")
      expect(yield* tag(sessions.message(other.project, session.id, { content: "Hi" }))).toBe("TestSessionNotFound")
      expect(yield* tag(sessions.end(other.project, session.id))).toBe("TestSessionNotFound")
      expect(yield* tag(sessions.get(project, "ts_unknown"))).toBe("TestSessionNotFound")
      // Sessions have no numeric ids in the API.
      expect(yield* tag(sessions.end(project, "1"))).toBe("TestSessionNotFound")
      expect(yield* tag(sessions.create(other.owner, { agent_id: "agent_unknown" }))).toBe("AgentNotFound")
      expect(yield* tag(sessions.message(project, session.id, {}))).toBe("ValidationError")
      expect(yield* tag(sessions.message(project, session.id, { content: "Hi", digits: "1" }))).toBe("ValidationError")
    })
  )
})

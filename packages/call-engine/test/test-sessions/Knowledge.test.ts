import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { AgentUpdate } from "@svc/api/agents/AgentBody"
import { KnowledgeBaseCreate } from "@svc/api/knowledge/KnowledgeBase"
import { Knowledge } from "@svc/knowledge/Knowledge"
import { Effect, Layer, Schema } from "effect"
import { TestSessions } from "../../src/test-sessions/TestSessions.ts"
import { agentOnNumber, Base, configuration, Engine } from "../doubles/Engine.ts"

const Test = Layer.provideMerge(Engine, Base)

const script = {
  rules: [
    { user: "search (.*)", tool: "search_knowledge", arguments: { query: "$1" } },
    { tool_result: "search_knowledge", say: "It says: {{result.passages.0.text}}" }
  ],
  otherwise: "You said {{user}}."
}

/** A test session of an agent with a knowledge base. */
const begun = Effect.gen(function* () {
  const line = yield* agentOnNumber(({ event }) => (event === "call.started" ? configuration(script) : { json: {} }))
  const knowledge = yield* Knowledge
  const agents = yield* Agents
  const sessions = yield* TestSessions
  const body = yield* Schema.decodeUnknown(KnowledgeBaseCreate)({
    name: "Shop",
    entries: [
      { question: "When are you open?", answer: "From nine to five." },
      { question: "Are dogs allowed?", answer: "Dogs are welcome, on a lead." }
    ]
  })
  const base = yield* knowledge.create(line.owner, body)
  const link = (knowledge_base_ids: ReadonlyArray<string>) =>
    Effect.flatMap(Schema.decodeUnknown(AgentUpdate)({ knowledge_base_ids }), (change) =>
      agents.update(line.owner, line.agent.public_id, change)
    )
  yield* link([base.public_id])
  const session = yield* sessions.create(line.owner, { agent_id: line.agent.public_id })
  const say = (content: string) =>
    Effect.map(sessions.message(line.project, session.id, { content }), ({ messages }) =>
      messages.map((message) => `${message.tool_name ?? message.role}: ${message.content}`)
    )
  return { ...line, base, link, session, say }
})

/** What the session looked up and found, from its journal. */
const lookUps = (sessionId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{
      readonly input: { readonly purpose: string; readonly bases: number; readonly passages: ReadonlyArray<object> }
    }>`
      select input from test_session_journal join test_sessions on test_sessions.id = session_id
      where public_id = ${sessionId} and input->>'_tag' = 'KnowledgeFound' order by seq`
    return rows.map(({ input: { bases, passages, purpose } }) => ({ purpose, bases, passages }))
  })

layer(Test, { timeout: "60 seconds", excludeTestServices: true })("a test session of an agent with knowledge", (it) => {
  it.scoped("looks up what the caller says, and journals what was found", () =>
    Effect.gen(function* () {
      const { say, session } = yield* begun
      expect(yield* say("May I bring my dog?")).toEqual([
        "user: May I bring my dog?",
        "assistant: You said May I bring my dog?."
      ])
      expect(yield* lookUps(session.id)).toEqual([
        {
          purpose: "turn",
          bases: 1,
          passages: [
            {
              knowledge_base: "Shop",
              heading: "Are dogs allowed?",
              text: "Dogs are welcome, on a lead.",
              score: expect.any(Number)
            }
          ]
        }
      ])
    })
  )

  it.scoped("offers the model search_knowledge, which does not ask the agent's server", () =>
    Effect.gen(function* () {
      const { say, server } = yield* begun
      const messages = yield* say("search opening hours")
      expect(messages).toEqual([
        "user: search opening hours",
        expect.stringMatching(/^search_knowledge: .*From nine to five\./),
        "assistant: It says: From nine to five."
      ])
      expect(server.received.map(({ event }) => event)).not.toContain("tool.call")
    })
  )

  it.scoped("goes on without knowledge once its bases are detached", () =>
    Effect.gen(function* () {
      const { link, say, session } = yield* begun
      yield* link([])
      yield* say("May I bring my dog?")
      // The scripted model calls the tool although it is not offered, and gets an error.
      expect(yield* say("search dogs")).toEqual(["user: search dogs", "assistant: I'm sorry, that did not work."])
      expect(yield* lookUps(session.id)).toEqual([{ purpose: "turn", bases: 0, passages: [] }])
    })
  )
})

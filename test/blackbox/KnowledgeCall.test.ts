import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"

const script = {
  rules: [
    { user: "^look up (.*)$", tool: "search_knowledge", arguments: { query: "$1" } },
    { tool_result: "search_knowledge", say: "I read {{result.passages.0.text}}" }
  ],
  otherwise: "Ok {{user}}."
}

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })(
  "A call of an agent with knowledge",
  (it) => {
    it.scoped(
      "looks up what the caller says before the model is asked, and what the model searches for",
      () =>
        Effect.gen(function* () {
          const box = yield* BlackBox
          const sql = yield* SqlClient.SqlClient
          const base = yield* box.api.post("/v1/knowledge-bases", {
            name: "Zoo",
            entries: [
              { question: "Are dogs allowed?", answer: "Dogs stay outside." },
              { question: "When do you feed the penguins?", answer: "At noon." }
            ]
          })
          expect(base.status).toBe(201)
          yield* eventually(
            "the vectors of the simulated plugin",
            Effect.orDie(sql<{ readonly vectors: number }>`select count(*)::integer as vectors from knowledge_vectors`),
            ([row]) => row?.vectors === 2
          )
          const line = yield* Line.open(
            box,
            ({ event }) => (event === "call.started" ? Line.configuration(script) : { json: {} }),
            { knowledge_base_ids: [textAt(base.body, "knowledge_base.public_id")] }
          )
          const { callId, phone } = yield* line.call
          phone.say("may I bring dogs")
          yield* phone.hears("Ok may I bring dogs.")
          phone.say("look up pengiuns")
          yield* phone.hears("I read At noon.")
          phone.hangup()
          const call = yield* CallRecords.settled(box.api, callId)
          expect(CallRecords.spoken(call)).toContain("assistant: I read At noon.")
          const found = yield* sql<{ readonly purpose: string; readonly bases: number; readonly first: string }>`
          select input ->> 'purpose' as purpose, (input ->> 'bases')::integer as bases,
            input #>> '{passages,0,text}' as first
          from call_journal join calls on calls.id = call_journal.call_id
          where public_id = ${callId} and input ->> '_tag' = 'KnowledgeFound' order by seq`
          // A pause within the words may be taken for their end: they are looked up, in vain, and again when there are more.
          expect(found.filter(({ first, purpose }) => purpose === "tool" || first !== null)).toEqual([
            { purpose: "turn", bases: 1, first: "Dogs stay outside." },
            { purpose: "turn", bases: 1, first: "At noon." },
            { purpose: "tool", bases: 1, first: "At noon." }
          ])
          // The agent's server is asked for nothing of it.
          expect(line.customer.inbox.all.map(({ event }) => event)).not.toContain("tool.call")
          expect((yield* CallRecords.replayOf(callId)).differing).toEqual([])
        }),
      { concurrent: true, timeout: 60_000 }
    )
  }
)

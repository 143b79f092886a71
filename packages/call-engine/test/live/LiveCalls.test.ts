import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { replay } from "@svc/conversation/Replay"
import { Effect, Layer } from "effect"
import { LiveCalls } from "../../src/live/LiveCalls.ts"
import { Calls } from "../../src/record/Calls.ts"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { JournalRepo } from "../../src/record/JournalRepo.ts"
import * as AgentServerDouble from "../../src/testing/AgentServerDouble.ts"
import { agentOnNumber, Base, configuration, Engine, phone, until } from "../doubles/Engine.ts"

const lookup = {
  name: "lookup",
  description: "Looks a thing up",
  parameters: { type: "object", properties: { what: { type: "string" } } }
}

const script = {
  rules: [
    { user: "look up (\\w+)", tool: "lookup", arguments: { what: "$1" } },
    { tool_result: "lookup", say: "It is {{result.answer}}." },
    { user: "bye", say: "Bye now.", tool: "end_call", arguments: { disposition: "resolved" } }
  ],
  otherwise: "You said {{user}}."
}

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
  it.scoped("is answered, converses in real audio, calls a tool, ends, and can be read and replayed", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { number, project, secret, server } = yield* agentOnNumber((request) =>
        request.event === "call.started"
          ? configuration(script, { tools: [lookup], end_session_message: "So long.", metadata: { crm: 7 } })
          : { json: { result: { answer: 42 } } }
      )
      const caller = yield* phone
      caller.send({ event: "dial", to: number, from: "+15550000001" })
      yield* caller.until("ringing")
      const answered = yield* caller.until("answered")
      const callId = answered.event === "answered" ? answered.call_id : ""
      yield* caller.hears(/^Hello\.$/)
      caller.send({ event: "say", text: "Hi" })
      yield* caller.hears(/^You said Hi\.$/)
      expect((yield* calls.state(project, callId)).status).toBe("in-progress")
      caller.send({ event: "say", text: "look up gold" })
      yield* caller.hears(/^It is 42\.$/)
      caller.send({ event: "say", text: "bye" })
      yield* caller.hears(/^So long\.$/)
      const hangup = yield* caller.until("hangup")
      expect(hangup).toEqual({ event: "hangup", cause: "agent-hangup" })

      const live = yield* LiveCalls
      yield* until(live.count, (n) => n === 0)
      const call = yield* calls.get(project, callId)
      expect(call).toMatchObject({
        status: "completed",
        disposition: "answered",
        ended_reason: "agent-hangup",
        from_number: "+15550000001",
        to_number: number,
        tool_call_count: 2,
        tools_called: ["lookup", "end_call"],
        metadata: { crm: 7 }
      })
      expect(call.transcript.map((t) => `${t.role}: ${t.content}`)).toEqual([
        "assistant: Hello.",
        "user: Hi",
        "assistant: You said Hi.",
        "user: look up gold",
        "assistant: It is 42.",
        "user: bye",
        "assistant: Bye now.",
        "assistant: So long."
      ])
      expect(call.latency_data.turns.length).toBeGreaterThanOrEqual(3)

      const toolCall = server.received.find((r) => r.event === "tool.call")
      expect(toolCall?.body).toMatchObject({
        name: "lookup",
        arguments: { what: "gold" },
        call_id: callId,
        from: "+15550000001"
      })
      for (const request of server.received) {
        expect(request.headers["x-svc-signature"]).toBe(AgentServerDouble.sign(secret, request.raw))
        expect(request.headers["x-call-id"]).toBe(callId)
      }
      const sql = yield* SqlClient.SqlClient
      const events = yield* sql<{ event: string }>`select event from events where call_id = ${callId} order by seq`
      expect(events.map((e) => e.event).filter((e) => e.startsWith("call."))).toEqual([
        "call.ringing",
        "call.started",
        "call.ended"
      ])

      const repo = yield* CallsRepo
      const owner = yield* Effect.flatten(repo.owner(callId))
      const replayed = replay(yield* Effect.flatMap(JournalRepo, (journal) => journal.ofCall(owner.id)))
      expect(replayed?.differing).toEqual([])
      expect(replayed?.state.transcript).toEqual(call.transcript)
    })
  )
})

import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Cause, Effect, Either, Exit, Layer, Scope } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, node, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

/** Interruptions, and the ways in which calls end. */

const lastPartial = (fits: RegExp) => (m: { readonly event: string; readonly text?: string }) =>
  m.event === "heard" && fits.test(m.text ?? "")

/** Short answers, and a tool that answers when the test lets it. */
const script = {
  rules: [
    { user: "go", tool: "slow" },
    { user: "story", say: "Once upon a time there was a king who had a very long beard." }
  ],
  otherwise: "Ok."
}
const slow = { name: "slow", description: "Takes its time", timeout_seconds: 30 }

describe.concurrent("on one engine", () => {
  layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
    it.scoped("has only the played part of first_message in its transcript when the caller barges in", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() =>
          configuration(script, { first_message: "Welcome to the house of the very long greetings." })
        )
        const caller = yield* dial(number)
        yield* caller.next(lastPartial(/^Welcome/))
        caller.send({ event: "say", text: "Stop" })
        yield* caller.until("clear")
        yield* caller.hears(/^Ok\.$/)
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        const [greeting, ...rest] = call.transcript
        expect(rest).toEqual(["user: Stop", "assistant: Ok."])
        const cut = caller.messages.flatMap((m) => (m.event === "heard" && m.text.startsWith("Welc") ? [m.text] : []))
        // The transcript has the characters that the caller heard; the phone reports a character with its first frame.
        const heard = cut.at(-1) ?? ""
        expect([heard, heard.slice(0, -1)].map((text) => `assistant: ${text.trim()}`)).toContain(greeting?.trim())
        expect(Record.dataOf(call, "barge_in")).toMatchObject([
          { interrupted_text: "Welcome to the house of the very long greetings." }
        ])
      })
    )

    it.scoped("keeps a tool running when the caller barges in, and answers both", () =>
      Effect.gen(function* () {
        let finish: (() => void) | undefined
        const { number } = yield* agentOnNumber((request) =>
          request.event === "tool.call"
            ? { write: (res) => (finish = () => void res.end('{"result":1}')) }
            : configuration(script, { first_message: null, tools: [slow] })
        )
        const caller = yield* dial(number)
        yield* caller.until("answered")
        caller.send({ event: "say", text: "go" })
        yield* until(
          Effect.sync(() => finish),
          (f) => f !== undefined
        )
        caller.send({ event: "say", text: "Hurry" })
        yield* until(Record.now(number), (r) => Record.dataOf(r ?? fail(), "transcript.updated").length === 2)
        finish?.()
        yield* caller.hears(/^Ok\.$/)
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.transcript).toEqual(["user: go", "user: Hurry", "assistant: Ok."])
        expect(Record.dataOf(call, "tool.completed")).toMatchObject([{ tool_name: "slow", result: 1 }])
        expect(call.outcome).toBe("completed answered caller-hangup")
      })
    )

    it.scoped("finishes its farewell when the caller talks over it, and keeps the caller's words", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { number, project } = yield* agentOnNumber(() =>
          configuration(script, { first_message: null, end_session_message: "Goodbye then, and thank you." })
        )
        const caller = yield* dial(number)
        const answered = yield* caller.until("answered")
        yield* Effect.fork(calls.end(project, answered.event === "answered" ? answered.call_id : ""))
        yield* caller.next(lastPartial(/^G/))
        caller.send({ event: "say", text: "Wait" })
        yield* caller.hears(/^Goodbye then, and thank you\.$/)
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "api" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered api")
        expect([...call.transcript].sort()).toEqual(["assistant: Goodbye then, and thank you.", "user: Wait"])
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(caller.messages.map((m) => m.event)).not.toContain("clear")
      })
    )

    it.scoped("ended by the API stops speaking, says its farewell, and is settled when the request returns", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { number, project } = yield* agentOnNumber(() =>
          configuration(script, { first_message: null, end_session_message: "Bye." })
        )
        const caller = yield* dial(number)
        const answered = yield* caller.until("answered")
        const callId = answered.event === "answered" ? answered.call_id : ""
        caller.send({ event: "say", text: "story" })
        // A letter beyond the word: the phone tells one with its first frame, the transcript has it with its last.
        yield* caller.next(lastPartial(/^Once u/))
        const ends = yield* Effect.all([calls.end(project, callId), calls.end(project, callId)], { concurrency: 2 })
        expect(ends).toEqual([callId, callId])
        const call = yield* calls.get(project, callId)
        expect([call.status, call.ended_reason]).toEqual(["completed", "api"])
        yield* caller.hears(/^Bye\.$/)
        const record = yield* Record.settled(number)
        expect(record.call_events).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(record.transcript.at(0)).toBe("user: story")
        expect(record.transcript.at(1)).toMatch(/^assistant: Once/)
        expect(record.transcript.at(1)?.length).toBeLessThan(40)
        expect(record.transcript.at(2)).toBe("assistant: Bye.")
        const late = yield* Effect.either(calls.end(project, callId))
        expect(Either.isLeft(late) && late.left._tag).toBe("CallNotInProgress")
      })
    )

    it.scoped("cancels a running tool when the API ends it", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        let closed = false
        let asked = false
        const { number, project } = yield* agentOnNumber((request) => {
          if (request.event !== "tool.call") return configuration(script, { first_message: null, tools: [slow] })
          asked = true
          return { write: (res) => res.on("close", () => (closed = true)) }
        })
        const caller = yield* dial(number)
        const answered = yield* caller.until("answered")
        caller.send({ event: "say", text: "go" })
        yield* until(
          Effect.sync(() => asked),
          (yes) => yes
        )
        yield* calls.end(project, answered.event === "answered" ? answered.call_id : "")
        yield* until(
          Effect.sync(() => closed),
          (yes) => yes
        )
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered api")
        expect(call.events.map((e) => e.event)).not.toContain("tool.timeout")
      })
    )

    it.scoped(
      "that still rings cannot be ended by the API, and its record has the carrier_call_id when it is canceled",
      () =>
        Effect.gen(function* () {
          const calls = yield* Calls
          const { number, project } = yield* agentOnNumber(() => undefined)
          const caller = yield* dial(number)
          yield* caller.until("ringing")
          const found = yield* until(Record.now(number), (r) => r !== undefined)
          const ended = yield* Effect.either(calls.end(project, found?.call_id ?? ""))
          expect(Either.isLeft(ended) && ended.left._tag).toBe("CallNotInProgress")
          caller.close()
          expect((yield* Record.settled(number)).outcome).toBe("canceled no-answer caller-hangup")
          const { line } = yield* calls.get(project, found?.call_id ?? "")
          expect(line).toMatchObject({ carrier_call_id: expect.any(String), codec: null })
        })
    )

    it.scoped("ends after max_duration", () =>
      Effect.gen(function* () {
        const { agent, number } = yield* agentOnNumber(() =>
          configuration(script, { first_message: null, end_session_message: "Bye." })
        )
        // The API accepts no less than a minute.
        const sql = yield* SqlClient.SqlClient
        yield* sql`alter table agents drop constraint agents_max_duration_check`
        yield* sql`update agents set max_duration = 1 where public_id = ${agent.public_id}`
        const caller = yield* dial(number)
        yield* caller.hears(/^Bye\.$/)
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "timeout" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered timeout")
        expect(call.transcript).toEqual(["assistant: Bye."])
      })
    )

    it.scoped("ends after inactivity_timeout without words of the caller", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() =>
          configuration(script, { first_message: "Hi.", inactivity_timeout: 1, end_session_message: "Bye." })
        )
        const caller = yield* dial(number)
        yield* caller.hears(/^Hi\.$/)
        yield* caller.hears(/^Bye\.$/)
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "silence-timeout" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered silence-timeout")
        const [greeted, bye] = Record.dataOf(call, "ai.speech.started").map((d) => Date.parse(String(d["timestamp"])))
        expect((bye ?? 0) - (greeted ?? 0)).toBeGreaterThan(1000)
      })
    )

    it.scoped("emits one speech.started and one speech.ended each time the caller speaks", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() => configuration(script, { first_message: null }))
        const caller = yield* dial(number)
        yield* caller.until("answered")
        for (const text of ["Hi", "Yo"]) {
          caller.send({ event: "say", text })
          yield* caller.hears(/^Ok\.$/)
        }
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.events.map((e) => e.event).filter((e) => /^speech/.test(e))).toEqual([
          "speech.started",
          "speech.ended",
          "speech.started",
          "speech.ended"
        ])
        expect(Record.dataOf(call, "speech.ended").map((d) => d["transcript"])).toEqual(["Hi", "Yo"])
      })
    )

    it.scoped("to a number without an agent is rejected, with call.failed as its only event", () =>
      Effect.gen(function* () {
        const { number, server } = yield* agentOnNumber(() => configuration(script))
        const sql = yield* SqlClient.SqlClient
        yield* sql`update phone_numbers set agent_id = null, agent_public_id = null where number = ${number}`
        const caller = yield* dial(number)
        expect(yield* caller.until("rejected")).toEqual({ event: "rejected", cause: "unavailable" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("rejected rejected null")
        expect(call.events).toMatchObject([{ event: "call.failed", data: { agent_id: null, ended_reason: null } }])
        expect(server.received).toEqual([])
      })
    )

    it.scoped("to an unknown number is rejected without a record", () =>
      Effect.gen(function* () {
        const caller = yield* dial("+15559999999")
        expect(yield* caller.until("rejected")).toEqual({ event: "rejected", cause: "unavailable" })
        expect(yield* Record.now("+15559999999")).toBeUndefined()
      })
    )
  })

  layer(TestDatabase.layer, { timeout: "60 seconds", excludeTestServices: true })("a shutdown", (it) => {
    it.scoped("ends live calls with their farewell, rejects ringing ones, and settles all", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const context = yield* Scope.extend(node, scope)
        const [talking, ringing] = yield* Effect.all([
          agentOnNumber(() => configuration(script, { first_message: "Hi.", end_session_message: "Bye." })),
          agentOnNumber(() => undefined)
        ]).pipe(Effect.provide(context))
        const [caller, waiting] = yield* Effect.provide(
          Effect.all([dial(talking.number), dial(ringing.number)]),
          context
        )
        yield* waiting.until("ringing")
        yield* caller.hears(/^Hi\.$/)
        yield* Scope.close(scope, Exit.void)
        expect(caller.messages.flatMap((m) => (m.event === "heard" && m.final ? [m.text] : []))).toEqual([
          "Hi.",
          "Bye."
        ])
        expect(caller.messages.at(-1)).toEqual({ event: "hangup", cause: "agent-hangup" })
        expect(waiting.messages.at(-1)).toEqual({ event: "hangup", cause: "unavailable" })
        const call = yield* Record.settled(talking.number)
        expect(call.outcome).toBe("completed answered agent-hangup")
        expect(call.transcript).toEqual(["assistant: Hi.", "assistant: Bye."])
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended"])
        const refused = yield* Record.settled(ringing.number)
        expect(refused.outcome).toBe("failed failed error")
        expect(refused.call_events).toEqual(["call.ringing", "call.failed"])
      })
    )
  })
})

const fail = (): never => {
  throw new Error(Cause.pretty(Cause.die("no record")))
}

import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { CallNotFound } from "@svc/api/calls/Call"
import { AgentId, CallId } from "@svc/api/Ids"
import { start, step } from "@svc/conversation/Conversation"
import type { Facts, Input } from "@svc/conversation/Input"
import { digest } from "@svc/conversation/Replay"
import { facts, Script } from "@svc/conversation/testing/Script"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { Effect, Layer } from "effect"
import { CallQueriesRepo } from "../../src/record/CallQueriesRepo.ts"
import { JournalRepo } from "../../src/record/JournalRepo.ts"
import { ServerRequestsRepo } from "../../src/record/ServerRequestsRepo.ts"
import { Timelines } from "../../src/record/Timelines.ts"

const Test = Timelines.layer.pipe(
  Layer.provide(
    Layer.succeed(Providers, {
      plugins: [],
      telephony: [],
      speechToText: [],
      textToSpeech: [],
      languageModel: [],
      voiceActivity: undefined,
      embedding: undefined,
      objectStore: undefined
    })
  ),
  Layer.provideMerge(Layer.mergeAll(CallQueriesRepo.layer, JournalRepo.layer, ServerRequestsRepo.layer)),
  Layer.provideMerge(TestDatabase.layer)
)

const project = { id: 7 }
const agent = AgentId.make(`agent_${"a".repeat(24)}`)

const newCall = (digit: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = CallId.make(`call_${digit.repeat(24)}`)
    const rows = yield* sql<{ readonly id: number }>`
      insert into calls (public_id, agent_public_id, org_id, project_id, telephony, status, started_at)
      values (${id}, ${agent}, 1, 7, 'simulated', 'in-progress', now()) returning id`
    return { id, numeric: rows[0]?.id ?? 0 }
  })

/** The journal of a conversation. */
const journalOf = (call_id: number, inputs: ReadonlyArray<Input>) => {
  let [state, commands] = start(facts)
  const rows: Array<{ call_id: number; seq: number; input: Facts | Input; commands: string }> = [
    { call_id, seq: 0, input: facts, commands: digest(commands) }
  ]
  for (const [index, input] of inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ call_id, seq: index + 1, input, commands: digest(commands) })
  }
  return rows
}

layer(Test, { excludeTestServices: true })("the timeline of a call", (it) => {
  it.effect("is read in pages, however long, and then only what is new", () =>
    Effect.gen(function* () {
      const { id, numeric } = yield* newCall("1")
      const journal = yield* JournalRepo
      const script = Script.greeted()
      for (let n = 0; n < 100; n++) script.wait(10).input({ _tag: "Dtmf", digit: String(n % 10) })
      const rows = journalOf(numeric, script.inputs)
      yield* journal.insert(rows.slice(0, 90))
      const reader = yield* Effect.flatMap(Timelines, ({ open }) => open(project, id))
      const digits = Effect.map(
        reader.read,
        ({ journal }) => journal?.events.entries.filter(({ what }) => what.startsWith("digit")).length
      )
      const first = rows.slice(0, 90).filter(({ input }) => input._tag === "Dtmf").length
      expect(yield* digits).toBe(first)
      // A row that is not there yet: those after it wait for it.
      yield* journal.insert(rows.slice(91))
      expect(yield* digits).toBe(first)
      yield* journal.insert(rows.slice(90, 91))
      expect(yield* digits).toBe(100)
    })
  )

  it.effect("has the newest 100 requests to the agent's server, with the bodies of the newest 20", () =>
    Effect.gen(function* () {
      const { id, numeric } = yield* newCall("2")
      const requests = yield* ServerRequestsRepo
      yield* requests.insert(
        Array.from({ length: 250 }, (_, n) => ({
          call_id: numeric,
          event: "tool.call",
          started_at: n,
          duration_ms: n,
          status: 200,
          content_type: "application/json",
          error: null,
          request: "{}",
          response: "{}"
        }))
      )
      const { serverRequests, serverRequestsLeftOut } = yield* Effect.flatMap(Timelines, ({ open }) =>
        Effect.flatMap(open(project, id), ({ read }) => read)
      )
      expect([serverRequests.length, serverRequestsLeftOut]).toEqual([100, 150])
      expect(serverRequests.map(({ duration_ms }) => duration_ms)).toEqual(
        Array.from({ length: 100 }, (_, n) => n + 150)
      )
      expect(serverRequests.filter(({ request }) => request !== null)).toHaveLength(20)
      expect(serverRequests.at(-1)?.response).toBe("{}")
    })
  )

  it.effect("of an unknown call, or of another project, is not found", () =>
    Effect.gen(function* () {
      const { id } = yield* newCall("3")
      const { open } = yield* Timelines
      for (const [owner, call] of [
        [project, `call_${"9".repeat(24)}`],
        [{ id: 8 }, id]
      ] as const) {
        const reader = yield* open(owner, call)
        expect(yield* Effect.flip(reader.read)).toBeInstanceOf(CallNotFound)
      }
    })
  )
})

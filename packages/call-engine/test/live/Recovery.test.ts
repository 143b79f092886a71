import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { noLine } from "@svc/api/calls/CallUsage"
import { CallId } from "@svc/api/Ids"
import type { CallConfig } from "@svc/conversation/answers/CallConfig"
import { start, step } from "@svc/conversation/Conversation"
import type { Facts, Input } from "@svc/conversation/Input"
import { digest, replay } from "@svc/conversation/Replay"
import { config, facts, Script } from "@svc/conversation/testing/Script"
import { Database } from "@svc/database/Database"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Exit, Layer, Logger, LogLevel, Schema, Scope } from "effect"
import { LiveCalls } from "../../src/live/LiveCalls.ts"
import { Recovery } from "../../src/live/Recovery.ts"
import { Calls } from "../../src/record/Calls.ts"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { JournalRepo } from "../../src/record/JournalRepo.ts"
import { Settlement } from "../../src/record/Settlement.ts"
import { RecordingsRepo } from "../../src/recording/RecordingsRepo.ts"
import { fastClock } from "../../src/testing/FastClock.ts"
import { agentOnNumber, Charging, configuration, dial, Engine, node, Services, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

/** Settlement uses no plugin. */
const NoPlugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})

const Settling = Recovery.layer.pipe(
  Layer.provideMerge(Settlement.layer),
  Layer.provide(Layer.mergeAll(Layer.orDie(Charging), NoPlugins)),
  Layer.provideMerge(Layer.mergeAll(CallsRepo.layer, JournalRepo.layer, RecordingsRepo.layer)),
  Layer.provideMerge(Outbox.layerWithoutDeliveries)
)

/** The recovery of another process. */
const recovery = Effect.map(Layer.build(Layer.fresh(Settling)), Context.get(Recovery))

let count = 0

/** A call as a killed process leaves it: its row, and the part of its journal that was written. */
const left = (node_id: string, inputs: ReadonlyArray<Input> | undefined, change: Partial<Facts> = {}) =>
  Effect.gen(function* () {
    const repo = yield* CallsRepo
    const sql = yield* SqlClient.SqlClient
    const public_id = yield* Schema.decode(CallId)(`call_${String(++count).padStart(24, "0")}`)
    const number = `+1555${String(count).padStart(7, "0")}`
    const of: Facts = { ...facts, ...change, call_id: public_id, to: number }
    const id = yield* repo.insert({
      public_id,
      org_id: 1,
      project_id: 1,
      agent_id: 1,
      agent_public_id: facts.agent_id,
      node_id,
      telephony: "simulated",
      from_number: facts.from,
      to_number: number,
      status: "ringing",
      started_at: new Date(facts.started_at)
    })
    if (inputs === undefined) return number
    let [state, commands] = start(of)
    const rows = [{ call_id: id, seq: 0, input: JSON.stringify(of), commands: digest(commands) }]
    for (const [i, input] of inputs.entries()) {
      ;[state, commands] = step(state, input)
      rows.push({ call_id: id, seq: i + 1, input: JSON.stringify(input), commands: digest(commands) })
    }
    for (const row of rows) {
      yield* sql`
        insert into call_journal (call_id, seq, input, commands)
        values (${row.call_id}, ${row.seq}, ${row.input}::jsonb, ${row.commands})`
    }
    if (state.answered_at !== null) yield* sql`update calls set status = 'in-progress' where id = ${id}`
    return number
  })

/** A greeting and one full turn; the second is being spoken. */
const inTheMiddle = (change: Partial<CallConfig> = {}): Script => {
  const s = Script.live(change)
  s.wait(100).play("u0").wait(500).say("One")
  s.input({ _tag: "ModelSentence", turn: 1, text: "First answer." }).input({ _tag: "ModelDone", turn: 1 })
  s.wait(700).play("u1").wait(500).say("Two").wait(300)
  s.input({ _tag: "ModelSentence", turn: 2, text: "Second answer." })
  return s.wait(20).input({ _tag: "SpeechStarted", id: "u2" })
}

const spoken = ["assistant: Hello there.", "user: One", "assistant: First answer.", "user: Two"]

describe.concurrent("recovery of a dead node's calls", () => {
  layer(Layer.provideMerge(Settling, TestDatabase.layer), { timeout: "30 seconds", excludeTestServices: true })(
    "is settled:",
    (it) => {
      it.scoped("settles a call in progress as failed, with every finished turn", () =>
        Effect.gen(function* () {
          const number = yield* left("node_a", inTheMiddle({ metadata: { crm: 7 } }).inputs)
          yield* (yield* recovery).settleCallsOf(["node_a"])
          const call = yield* Record.settled(number)
          expect(call.outcome).toBe("failed failed error")
          expect(call.transcript).toEqual(spoken)
          expect(call.call_events).toEqual(["call.ended", "call.failed"])
          // The event that the dead node did not emit: the agent's speech has ended.
          expect(call.events.map(({ event }) => event)).toEqual(["ai.speech.ended", "call.ended", "call.failed"])
          const [ended] = Record.dataOf(call, "call.ended")
          expect(ended).toMatchObject({
            ended_reason: "error",
            disposition: "failed",
            metadata: { crm: 7 },
            turn_count: 4
          })
          // The call is known to have been live until its last input, so its duration ends there.
          expect(call.ended_at?.getTime()).toBe(facts.started_at + 2120)
          expect(Record.dataOf(call, "call.failed")).toMatchObject([{ ended_reason: "error" }])
        })
      )

      it.scoped("keeps the usage and the line that were known, with a request that was under way", () =>
        Effect.gen(function* () {
          const s = Script.live()
          s.wait(100).play("u0").wait(500).say("One")
          s.input({ _tag: "ModelSentence", turn: 1, text: "First answer." })
          s.input({ _tag: "ModelUsed", input_tokens: 900, cached_input_tokens: 512, output_tokens: 4 })
          s.input({ _tag: "ModelDone", turn: 1 })
          const line = { ...noLine, carrier_call_id: "CA1", codec: "PCMA" as const, packets_lost: 3 }
          const media = { tts: { characters: 26, cached_characters: 0 }, stt: { seconds: 2.4 }, line }
          s.wait(700)
            .play("u1")
            .input({ _tag: "MediaReported", ...media })
            .wait(500)
            .say("Two")
          const number = yield* left("node_u", s.inputs)
          yield* (yield* recovery).settleCallsOf(["node_u"])
          const call = yield* Record.settled(number)
          const sql = yield* SqlClient.SqlClient
          const usage = {
            llm: { requests: 2, input_tokens: 900, cached_input_tokens: 512, output_tokens: 4 },
            tts: media.tts,
            stt: media.stt
          }
          expect(yield* sql`select usage, line from calls where id = ${call.id}`).toEqual([{ usage, line }])
          expect(Record.dataOf(call, "call.ended")).toMatchObject([
            { usage, line: { telephony: "simulated", ...line } }
          ])
        })
      )

      it.scoped("settles a call that had ended with its outcome and the data extracted until then", () =>
        Effect.gen(function* () {
          const extraction = [
            { name: "a name", type: "string" },
            { name: "age", type: "number", description: "in years" }
          ] as const
          const over = inTheMiddle({
            extraction,
            post_call_sms: { to: "caller", message: "Thanks {{call_id}}", sender_name: null },
            stt_keyterms: ["b", "a"],
            send_sms: { timeout_seconds: 5 }
          }).input({ _tag: "CallerHungUp" })
          const extracting = yield* left("node_x", over.inputs)
          const texting = yield* left(
            "node_x",
            over.wait(300).input({ _tag: "Extracted", answer: { age: 40, "a name": "Anna" } }).inputs
          )
          const repo = yield* CallsRepo
          const journal = yield* JournalRepo
          for (const { id } of yield* repo.liveOn(["node_x"])) {
            expect(replay(yield* journal.ofCall(id))?.differing).toEqual([])
          }
          yield* (yield* recovery).settleCallsOf(["node_x"])
          for (const [number, extracted_data] of [
            [extracting, { "a name": null, age: null }],
            [texting, { "a name": "Anna", age: 40 }]
          ] as const) {
            const call = yield* Record.settled(number)
            expect(call.outcome).toBe("completed answered caller-hangup")
            expect(Record.dataOf(call, "call.ended")).toMatchObject([{ extracted_data }])
            expect(call.ended_at?.getTime()).toBe(facts.started_at + 2120)
          }
        })
      )

      it.scoped("settles a ringing call with call.failed as its only event", () =>
        Effect.gen(function* () {
          const numbers = [
            yield* left("node_b", []),
            yield* left("node_b", [{ _tag: "ConfigAnswered", at: 10, config }])
          ]
          yield* (yield* recovery).settleCallsOf(["node_b"])
          for (const number of numbers) {
            const call = yield* Record.settled(number)
            expect(call.outcome).toBe("failed failed error")
            expect(call.call_events).toEqual(["call.failed"])
            expect(call.transcript).toEqual([])
          }
        })
      )

      it.scoped("settles a ringing outbound call with call.failed as its only event", () =>
        Effect.gen(function* () {
          const number = yield* left("node_o", [], { outbound: { ring_timeout_seconds: 30, metadata: { a: 1 } } })
          yield* (yield* recovery).settleCallsOf(["node_o"])
          const call = yield* Record.settled(number)
          expect([call.outcome, call.call_events]).toEqual(["failed failed error", ["call.failed"]])
        })
      )

      it.scoped("settles a call during a transfer: both have failed", () =>
        Effect.gen(function* () {
          const call = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550009999" })
          const number = yield* left("node_t", call.inputs)
          yield* (yield* recovery).settleCallsOf(["node_t"])
          const record = yield* Record.settled(number)
          expect(record.outcome).toBe("failed failed error")
          expect(record.events.map(({ event }) => event)).toEqual(["transfer.failed", "call.ended", "call.failed"])
          expect(Record.dataOf(record, "transfer.failed")).toMatchObject([
            { transfer_to: "+15550009999", reason: null, failure_reason: "the call ended" }
          ])
        })
      )

      it.scoped("settles a transferred call as completed, with transfer_duration_seconds until its last input", () =>
        Effect.gen(function* () {
          const call = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550009999" })
          call.wait(5000).input({ _tag: "TransferProgressed", state: "completed", reason: null })
          const number = yield* left("node_u", call.inputs)
          yield* (yield* recovery).settleCallsOf(["node_u"])
          const record = yield* Record.settled(number)
          expect(record.outcome).toBe("completed transferred transfer")
          expect(Record.dataOf(record, "call.ended")).toMatchObject([
            { transferred_to: "+15550009999", duration_seconds: 5, transfer_cost: 0 }
          ])
        })
      )

      it.scoped("settles a call without a journal with call.failed as its only event", () =>
        Effect.gen(function* () {
          const number = yield* left("node_c", undefined)
          yield* (yield* recovery).settleCallsOf(["node_c"])
          const call = yield* Record.settled(number)
          expect([call.outcome, call.call_events]).toEqual(["failed failed error", ["call.failed"]])
        })
      )

      it.scoped("settles a call that was over but not settled with its real outcome", () =>
        Effect.gen(function* () {
          const hungUp = inTheMiddle().wait(50)
          hungUp.input({ _tag: "SpeechCleared", cuts: [{ id: "u2", played: "Second" }] })
          hungUp.input({ _tag: "CallerHungUp" })
          const numbers = [
            yield* left("node_d", hungUp.inputs),
            yield* left("node_d", [{ _tag: "CallerHungUp", at: 30 }])
          ]
          yield* (yield* recovery).settleCallsOf(["node_d"])
          const [answered, canceled] = yield* Effect.forEach(numbers, Record.settled)
          expect(answered?.outcome).toBe("completed answered caller-hangup")
          expect(answered?.transcript).toEqual([...spoken, "assistant: Second"])
          expect(answered?.call_events).toEqual(["call.ended"])
          expect(canceled?.outcome).toBe("canceled no-answer caller-hangup")
          expect(canceled?.call_events).toEqual(["call.failed"])
        })
      )

      it.scoped("settles a call once although several nodes try at the same time", () =>
        Effect.gen(function* () {
          const transferring = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550009999" })
          const numbers = yield* Effect.all([
            left("node_e", inTheMiddle().inputs),
            left("node_e", []),
            left("node_e", transferring.inputs)
          ])
          const nodes = yield* Effect.replicateEffect(recovery, 8)
          yield* Effect.forEach(nodes, (one) => one.settleCallsOf(["node_e"]), { concurrency: "unbounded" })
          const calls = yield* Effect.forEach(numbers, Record.settled)
          const both = ["call.ended", "call.failed"]
          expect(calls.map((c) => c.call_events)).toEqual([both, ["call.failed"], both])
          expect(calls.flatMap((c) => Record.dataOf(c, "transfer.failed"))).toHaveLength(1)
        })
      )

      it.scoped("leaves calls of other nodes and settled calls alone", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const alive = yield* left("node_f", inTheMiddle().inputs)
          const over = yield* left("node_g", inTheMiddle().inputs)
          yield* sql`update calls set ended_at = now(), status = 'completed' where to_number = ${over}`
          yield* (yield* recovery).settleCallsOf(["node_g", "node_h"])
          expect((yield* Record.now(alive))?.status).toBe("in-progress")
          expect(yield* Record.now(over)).toMatchObject({ status: "completed", call_events: [] })
        })
      )
    }
  )

  layer(TestDatabase.layer, { timeout: "60 seconds", excludeTestServices: true })("a live call", (it) => {
    /** A process that may consider others dead at once. */
    const sure = Layer.build(
      Layer.fresh(Layer.provideMerge(Engine, Services)).pipe(
        Layer.provide(
          Layer.effect(
            Database,
            Effect.map(Database, (d) => ({ ...d, exclusive: true }))
          )
        )
      )
    )
    const talk = () => configuration({ otherwise: "Ok." }, { first_message: "Hi." })

    it.scoped("whose node loses its lease is hung up there, and settled once by the others", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const one = yield* node
        const { number, project } = yield* Effect.provide(agentOnNumber(talk), one)
        const ringing = yield* Effect.provide(
          agentOnNumber(() => undefined),
          one
        )
        const caller = yield* Effect.provide(dial(number), one)
        const waiting = yield* Effect.provide(dial(ringing.number), one)
        const answered = yield* caller.until("answered")
        yield* caller.hears(/^Hi\.$/)
        caller.send({ event: "say", text: "Yo" })
        yield* caller.hears(/^Ok\.$/)
        yield* until(Record.now(number), (r) => (r?.events.length ?? 0) > 8)
        // Its lease runs out, and two other nodes settle its calls.
        yield* sql`update nodes set expires_at = now(), dead_at = now()`
        yield* Effect.all([sure, sure], { concurrency: 2 })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("failed failed error")
        expect(call.transcript.slice(0, 2)).toEqual(["assistant: Hi.", "user: Yo"])
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended", "call.failed"])
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "error" })
        expect(yield* waiting.until("hangup")).toEqual({ event: "hangup", cause: "unavailable" })
        yield* until(
          Effect.flatten(Effect.map(LiveCalls, (calls) => calls.count)).pipe(Effect.provide(one)),
          (n) => n === 0
        )
        const end = yield* Effect.either(
          Effect.flatMap(Calls, (calls) => calls.end(project, answered.event === "answered" ? answered.call_id : ""))
        ).pipe(Effect.provide(one))
        expect(end).toMatchObject({ left: { _tag: "CallNotInProgress" } })
        // Nothing is written after that, although the process that lost the lease still runs.
        const events = yield* sql<{
          readonly event: string
        }>`select event from events where call_id = ${call.call_id} order by seq`
        expect(events.slice(-2).map((e) => e.event)).toEqual(["call.ended", "call.failed"])
        expect((yield* Record.settled(ringing.number)).call_events).toEqual(["call.ringing", "call.failed"])
      }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    )
  })

  layer(TestDatabase.layer, { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
    it.scoped("continues during a database outage, and everything is stored afterwards in order", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const one = yield* node
        const { number } = yield* Effect.provide(
          agentOnNumber(() => configuration({ otherwise: "Ok." }, { first_message: "Hi." })),
          one
        )
        const caller = yield* Effect.provide(dial(number), one)
        yield* caller.until("answered")
        yield* sql`alter table call_journal rename to call_journal_away`
        yield* sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
        yield* caller.hears(/^Hi\.$/)
        for (const text of ["One", "Two"]) {
          caller.send({ event: "say", text })
          yield* caller.hears(/^Ok\.$/)
        }
        caller.send({ event: "hangup" })
        yield* Effect.sleep("100 millis")
        yield* Effect.retry(sql`alter table call_journal_away rename to call_journal`, { times: 10 })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered caller-hangup")
        expect(call.transcript).toEqual([
          "assistant: Hi.",
          "user: One",
          "assistant: Ok.",
          "user: Two",
          "assistant: Ok."
        ])
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended"])
        expect(Record.dataOf(call, "transcript.updated").map((d) => d["turn_index"])).toEqual([0, 1, 2, 3, 4])
        const journal = yield* Effect.provide(JournalRepo, one)
        const rows = yield* journal.ofCall(call.id)
        expect(rows.map((r) => r.seq)).toEqual(rows.map((_, i) => i))
        expect(rows.slice(-3).map((r) => r.input._tag)).toEqual(["CallerHungUp", "RecognizerFinished", "MediaReported"])
      }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    )
  })

  layer(TestDatabase.layer, { timeout: "60 seconds", excludeTestServices: true })("a process", (it) => {
    it.scoped("stops although the database is unavailable, and the next node settles its call", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const scope = yield* Scope.make()
        const one = yield* Scope.extend(
          Layer.build(
            Layer.fresh(Engine.pipe(Layer.provide(Layer.setClock(fastClock(3))), Layer.provideMerge(Services)))
          ),
          scope
        )
        const { number } = yield* Effect.provide(
          agentOnNumber(() => configuration({}, { first_message: "Hi." })),
          one
        )
        const caller = yield* Effect.provide(dial(number), one)
        yield* caller.hears(/^Hi\.$/)
        yield* until(Record.now(number), (r) => Record.dataOf(r ?? none(), "transcript.updated").length === 1)
        yield* sql`alter table call_journal rename to call_journal_away`
        yield* sql`alter table calls rename to calls_away`
        yield* Scope.close(scope, Exit.void)
        expect(caller.messages.at(-1)?.event).toBe("hangup")
        yield* sql`alter table calls_away rename to calls`
        yield* sql`alter table call_journal_away rename to call_journal`
        const nodes = yield* sql<{ readonly node_id: string }>`select node_id from calls`
        yield* (yield* recovery).settleCallsOf(nodes.map((n) => n.node_id))
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("failed failed error")
        expect(call.transcript).toEqual(["assistant: Hi."])
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended", "call.failed"])
      }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
    )
  })
})

const none = (): never => {
  throw new Error("there is no call")
}

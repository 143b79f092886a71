import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Billing } from "@svc/billing/Billing"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { BigDecimal, Effect, Layer, Option, Schema, Stream } from "effect"
import { Recovery } from "../../src/live/Recovery.ts"
import { Calls } from "../../src/record/Calls.ts"
import { keyOf, Recorder } from "../../src/recording/Recorder.ts"
import { Recordings } from "../../src/recording/Recordings.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"
import { decode } from "../doubles/Sound.ts"

const script = { rules: [{ user: "bye", say: "Bye.", tool: "end_call" }], otherwise: "You said {{user}}." }

/** An agent on a number; recording_enabled in the answer overrides its `recording`. */
const agentWith = (recording: boolean, more: Readonly<Record<string, unknown>> = {}) =>
  agentOnNumber((request) => (request.event === "call.started" ? configuration(script, more) : { json: {} }), {
    recording
  })

/** A short call, over and settled. */
const short = (number: string) =>
  Effect.gen(function* () {
    const caller = yield* dial(number)
    yield* caller.until("answered")
    yield* caller.hears(/^Hello\.$/)
    caller.send({ event: "say", text: "bye" })
    yield* caller.until("hangup")
    return yield* Record.settled(number)
  })

/** The record once its recording is ready. */
const ready = (number: string) =>
  until(Record.now(number), (record) => record?.call_events.includes("call.recording_ready") === true).pipe(
    Effect.timeout("20 seconds"),
    Effect.flatMap((record) => (record === undefined ? Effect.dieMessage("no call") : Effect.succeed(record)))
  )

const EventData = Schema.Struct({
  call_id: Schema.String,
  agent_id: Schema.String,
  recording_url: Schema.String,
  recording_expires_at: Schema.String
})

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
  it.scoped(
    "of an agent with recording: true is recorded as an MP3 of both sides, with has_recording, call.recording_ready and a link",
    () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const recordings = yield* Recordings
        const { number, project } = yield* agentWith(true)
        yield* short(number)
        const record = yield* ready(number)
        expect(record.call_events).toEqual(["call.ringing", "call.started", "call.ended", "call.recording_ready"])
        const call = yield* calls.get(project, record.call_id)
        expect(call).toMatchObject({ has_recording: true, recording_enabled: true, recording_cost: 0 })

        const [event] = Record.dataOf(record, "call.recording_ready")
        const { recording_expires_at, recording_url, ...ids } = yield* Schema.decodeUnknown(EventData)(event)
        expect(ids).toEqual({ call_id: call.call_id, agent_id: call.agent_id })
        const hours = (Date.parse(recording_expires_at) - Date.parse(call.ended_at ?? "")) / 3_600_000
        expect(hours).toBeGreaterThan(23.9)
        expect(hours).toBeLessThan(24.1)

        const link = yield* recordings.link(project, call.call_id, 60)
        expect(link.expires_in).toBe(60)
        for (const url of [recording_url, link.url].map((text) => new URL(text))) {
          expect(url.origin).toBe("https://svc.test")
          const file = yield* recordings.open(url.pathname.split("/").at(-1) ?? "", url.searchParams)
          const heard = yield* decode(Buffer.concat([...(yield* Stream.runCollect(file.read()))]))
          // The simulated network speaks on both sides.
          expect(Math.abs(heard.length - call.duration_seconds)).toBeLessThan(1)
          expect(heard.loudness("right", 0, heard.length)).toBeGreaterThan(0.01)
          expect(heard.loudness("left", 0, heard.length)).toBeGreaterThan(0.01)
        }
      })
  )

  it.scoped(
    "is recorded according to recording_enabled in the answer to call.started, not to the agent's recording",
    () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const recordings = yield* Recordings
        const yes = yield* agentWith(false, { recording_enabled: true })
        const no = yield* agentWith(true, { recording_enabled: false })
        const nonsense = yield* agentWith(true, { recording_enabled: "no" })
        yield* Effect.forEach([yes, no, nonsense], ({ number }) => short(number), { concurrency: 3, discard: true })
        for (const { number, project } of [yes, nonsense]) {
          const { call_id } = yield* ready(number)
          expect(yield* calls.get(project, call_id)).toMatchObject({ recording_enabled: true, has_recording: true })
        }
        const { call_id, call_events } = yield* Record.settled(no.number)
        expect(call_events).not.toContain("call.recording_ready")
        expect(yield* calls.get(no.project, call_id)).toMatchObject({ recording_enabled: false, has_recording: false })
        const error = yield* Effect.flip(recordings.link(no.project, call_id, 60))
        expect(error).toMatchObject({ code: "RECORDING_NOT_FOUND", status: 404 })
      })
  )

  it.scoped("with a pre_gather menu is recorded from its configuration on, if recording_enabled", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { number, project } = yield* agentOnNumber((request) =>
        request.event !== "call.started"
          ? { json: {} }
          : request.body["gather_status"] === null
            ? { json: { pre_gather: { prompt: "Press one." } } }
            : configuration(script, { recording_enabled: true, metadata: { menu: 1 } })
      )
      const caller = yield* dial(number)
      yield* caller.hears(/^Press one\.$/)
      const inMenu = yield* until(Record.now(number), (record) => record?.status === "in-progress")
      expect(yield* calls.get(project, inMenu?.call_id ?? "")).toMatchObject({ recording_enabled: false, metadata: {} })
      caller.send({ event: "dtmf", digits: "1" })
      yield* caller.hears(/^Hello\.$/)
      const live = yield* until(
        calls.get(project, inMenu?.call_id ?? ""),
        ({ recording_enabled }) => recording_enabled
      ).pipe(Effect.timeout("5 seconds"))
      expect(live).toMatchObject({ status: "in-progress", metadata: { menu: 1 } })
      caller.send({ event: "hangup" })
      const { call_id } = yield* ready(number)
      expect(yield* calls.get(project, call_id)).toMatchObject({ has_recording: true, recording_enabled: true })
    })
  )

  it.scoped("costs recording_cost per started minute, held from the start", () =>
    Effect.gen(function* () {
      const billing = yield* Billing
      const calls = yield* Calls
      const sql = yield* SqlClient.SqlClient
      const { number, project } = yield* agentWith(true)
      const [org] = yield* sql<{ readonly id: number }>`
        select o.id from organizations o join projects p on p.org_id = o.id where p.id = ${project.id}`
      const id = org?.id ?? 0
      yield* sql`update organizations set tier = 'payg' where id = ${id}`
      yield* billing.add(id, BigDecimal.unsafeFromString("5"))
      const { call_id } = yield* short(number)
      const call = yield* calls.get(project, call_id)
      expect(call.recording_cost).toBe(0.005)
      expect(call.total_cost).toBeCloseTo(call.call_cost + 0.005, 6)
      const entries = yield* sql<{ readonly kind: string; readonly amount: number }>`
        select kind, amount_eur::float8 as amount from ledger_entries where org_id = ${id} order by id`
      expect(entries.slice(1)).toEqual([
        { kind: "call_hold", amount: -0.125 },
        { kind: "call_hold_release", amount: 0.125 },
        { kind: "call", amount: -call.call_cost },
        { kind: "recording", amount: -0.005 }
      ])
      expect(Record.dataOf(yield* ready(number), "call.ended")).toMatchObject([{ recording_cost: 0.005 }])
    })
  )

  it.scoped("has no recording link while it is live, nor for another project", () =>
    Effect.gen(function* () {
      const recordings = yield* Recordings
      const [one, two] = [yield* agentWith(true), yield* agentWith(true)]
      const caller = yield* dial(one.number)
      yield* caller.hears(/^Hello\.$/)
      const live = yield* until(Record.now(one.number), (record) => record?.status === "in-progress")
      const early = yield* Effect.flip(recordings.link(one.project, live?.call_id ?? "", 60))
      expect(early).toMatchObject({ code: "RECORDING_NOT_FOUND" })
      caller.send({ event: "hangup" })
      const { call_id } = yield* ready(one.number)
      for (const id of [call_id, "call_000000000000000000000000", "x", "0"]) {
        const error = yield* Effect.flip(recordings.link(two.project, id, 60))
        expect(error).toMatchObject({ code: "CALL_NOT_FOUND" })
      }
    })
  )

  it.scoped("of a node that died keeps its recording, and call.recording_ready is emitted once", () =>
    Effect.gen(function* () {
      const recordings = yield* Recordings
      const recovery = yield* Recovery
      const recorder = yield* Recorder
      const store = yield* ObjectStore
      const sql = yield* SqlClient.SqlClient
      const { number, project } = yield* agentWith(true)
      const { call_id, id } = yield* short(number)
      yield* ready(number)
      yield* until(
        Effect.sync(() => recorder.isWriting(keyOf(call_id))),
        (writes) => !writes
      )
      // The state that a killed node leaves: a live call with an unfinished object.
      const key = keyOf(call_id)
      yield* store.remove(key)
      yield* Effect.scoped(
        Effect.flatMap(store.write(key, "audio/mpeg"), (writer) => writer.append(new Uint8Array(500)))
      )
      yield* sql`delete from recordings where call_id = ${id}`
      yield* sql`delete from events where call_id = ${call_id}`
      yield* sql`update calls set ended_at = null, has_recording = false, node_id = 'node_gone' where id = ${id}`
      yield* recovery.settleCallsOf(["node_gone"])
      yield* Effect.replicateEffect(recordings.sweep, 10, { concurrency: "unbounded" })
      const record = yield* ready(number)
      yield* recordings.sweep
      expect(record.call_events.filter((event) => event === "call.recording_ready").length).toBe(1)
      expect(yield* store.size(key)).toEqual(Option.some(500))
      expect((yield* recordings.link(project, call_id, 60)).url).toContain(call_id)
    })
  )

  it.scoped("without a recording file is given up after a day", () =>
    Effect.gen(function* () {
      const recordings = yield* Recordings
      const store = yield* ObjectStore
      const sql = yield* SqlClient.SqlClient
      const { number } = yield* agentWith(true)
      const { call_id, id } = yield* short(number)
      yield* ready(number)
      yield* store.remove(keyOf(call_id))
      const left = Effect.map(sql`select 1 from recordings where call_id = ${id}`, (rows) => rows.length)
      yield* sql`update recordings set ready_at = null, created_at = now() - interval '23 hours' where call_id = ${id}`
      yield* recordings.sweep
      expect(yield* left).toBe(1)
      yield* sql`update recordings set created_at = now() - interval '25 hours' where call_id = ${id}`
      yield* recordings.sweep
      expect(yield* left).toBe(0)
      expect(yield* sql`select has_recording from calls where id = ${id}`).toEqual([{ has_recording: false }])
    })
  )
})

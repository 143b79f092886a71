import { SqlClient } from "@effect/sql"
import { Facts, Input } from "@svc/conversation/Input"
import { type Replayed, replay } from "@svc/conversation/Replay"
import { Effect, Schema } from "effect"
import { type ApiClient, at, isRecord, type JsonRecord } from "./ApiClient.ts"
import * as DocumentedShapes from "./DocumentedShapes.ts"
import { eventually } from "./Inbox.ts"
import { misfits } from "./Shape.ts"

/** An event in the outbox, with the envelope that is delivered. See docs/reference/events.md. */
export interface SentEvent {
  readonly event: string
  readonly data: JsonRecord
  readonly envelope: JsonRecord
}

const Row = Schema.Struct({
  id: Schema.String,
  event: Schema.String,
  timestamp: Schema.DateFromSelf,
  api_version: Schema.String,
  org_id: Schema.Int,
  project_id: Schema.NullOr(Schema.Int),
  agent_id: Schema.NullOr(Schema.String),
  data: Schema.Unknown
})

/** The events of a call, in the order in which they were written. */
export const eventsOf = (callId: string): Effect.Effect<ReadonlyArray<SentEvent>, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`
      select id, event, created_at as timestamp, api_version, org_id, project_id, agent_id, data
      from events where call_id = ${callId} order by seq`
    const decoded = yield* Schema.decodeUnknown(Schema.Array(Row))(rows)
    return decoded.map((row) => ({
      event: row.event,
      data: isRecord(row.data) ? row.data : {},
      envelope: { ...row, timestamp: row.timestamp.toISOString() }
    }))
  }).pipe(Effect.orDie)

/** Differences from the documented envelope and data. */
export const misfitsOf = (events: ReadonlyArray<SentEvent>): ReadonlyArray<string> =>
  events.flatMap(({ data, envelope, event }) => {
    const shape = DocumentedShapes.eventData[event]
    const wrong = shape === undefined ? [`unknown event`] : misfits(shape, data)
    const others = envelope["agent_id"] === data["agent_id"] ? [] : ["agent_id differs from the envelope's"]
    const form = /^whe_[0-9a-z]{24}$/.test(String(envelope["id"])) ? [] : [`id ${envelope["id"]}`]
    const version = envelope["api_version"] === "2026-11-01" ? [] : [`api_version ${envelope["api_version"]}`]
    const all = [...wrong, ...misfits(DocumentedShapes.envelope, envelope), ...others, ...form, ...version]
    return all.map((what) => `${event}: ${what}`)
  })

/** Names of the events that begin with a prefix. */
export const namesOf = (events: ReadonlyArray<SentEvent>, prefix = ""): ReadonlyArray<string> =>
  events.flatMap(({ event }) => (event.startsWith(prefix) ? [event] : []))

export const dataOf = (events: ReadonlyArray<SentEvent>, event: string): ReadonlyArray<JsonRecord> =>
  events.flatMap((one) => (one.event === event ? [one.data] : []))

/** The call's record when it is settled. */
export const settled = (api: ApiClient, callId: string): Effect.Effect<JsonRecord> =>
  Effect.map(
    eventually(
      `the end of ${callId}`,
      api.get(`/v1/calls/${callId}`),
      ({ body, status }) => status === 200 && body["ended_at"] !== null
    ),
    ({ body }) => body
  )

/** `role: content` of each turn. */
export const spoken = (call: JsonRecord): ReadonlyArray<string> => {
  const turns = call["transcript"]
  return Array.isArray(turns) ? turns.map((turn: unknown) => `${at(turn, "role")}: ${at(turn, "content")}`) : []
}

const StoredInput = Schema.Struct({ seq: Schema.Int, input: Schema.Union(Facts, Input), commands: Schema.String })

/** Replays a call's journal from the database. */
export const replayOf = (callId: string): Effect.Effect<Replayed, never, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`
      select seq, input, commands from call_journal
      where call_id = (select id from calls where public_id = ${callId}) order by seq`
    const replayed = replay(yield* Schema.decodeUnknown(Schema.Array(StoredInput))(rows))
    return replayed ?? (yield* Effect.dieMessage(`the journal of ${callId} has no beginning`))
  }).pipe(Effect.orDie)

import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { AgentId, TestSessionId } from "@svc/api/Ids"
import { TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { decodeRows, type JournalRow, type StoredInput, type StoredJournal } from "../record/JournalRepo.ts"

/** A test session before it is written. */
export interface NewTestSession {
  readonly public_id: TestSessionId
  readonly org_id: number
  readonly project_id: number
  readonly agent_id: number
  readonly agent_public_id: AgentId
  readonly from_number: string | null
  readonly to_number: string | null
  readonly metadata: { readonly [key: string]: unknown }
  /** The lease of the node that works on it. */
  readonly node_id: string
  readonly created_at: Date
}

const TestSessionHead = Schema.Struct({
  id: Schema.Int,
  public_id: TestSessionId,
  agent_id: Schema.Int,
  agent_public_id: AgentId,
  from_number: Schema.NullOr(Schema.String),
  to_number: Schema.NullOr(Schema.String),
  created_at: Schema.DateFromSelf,
  ended_at: Schema.NullOr(Schema.DateFromSelf),
  ended_reason: Schema.NullOr(Schema.String)
})
/** A session without its messages, which may be large. */
export type TestSessionHead = typeof TestSessionHead.Type

const TestSessionRow = Schema.Struct({
  ...TestSessionHead.fields,
  messages: Schema.Array(TestSessionMessage)
})
export type TestSessionRow = typeof TestSessionRow.Type

/** What a session did since it was last stored. `ended` is the reason when it is over. */
export interface Progress {
  readonly rows: ReadonlyArray<JournalRow>
  readonly messages: ReadonlyArray<TestSessionMessage>
  readonly ended: string | null
}

/** SQL of `test_sessions` and `test_session_journal`. */
export class TestSessionsRepo extends Context.Tag("@svc/call-engine/TestSessionsRepo")<
  TestSessionsRepo,
  {
    /** Inserts a session of a node and returns its numeric id; null when the project has `limit` active ones. */
    readonly insert: (session: NewTestSession, limit: number) => Effect.Effect<number | null>
    readonly find: (projectId: number, publicId: string) => Effect.Effect<Option.Option<TestSessionRow>>
    readonly head: (projectId: number, publicId: string) => Effect.Effect<Option.Option<TestSessionHead>>
    /** Takes an active session that no other node works on. */
    readonly claim: (id: number, node: string) => Effect.Effect<boolean>
    /** Stores progress, if the node still has the session; false: another node has taken it over. */
    readonly store: (id: number, node: string, progress: Progress) => Effect.Effect<boolean>
    readonly journal: (id: number) => Effect.Effect<ReadonlyArray<StoredInput>>
    /** The journal of a session by its public id, for a replay. */
    readonly stored: (publicId: string) => Effect.Effect<Option.Option<StoredJournal>>
    /** Lets any node take the session. */
    readonly release: (id: number, node: string) => Effect.Effect<void>
    readonly releaseAllOf: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
    /** Sessions that no node works on and that had no message for `minutes`. */
    readonly idle: (
      minutes: number
    ) => Effect.Effect<ReadonlyArray<{ readonly public_id: string; readonly project_id: number }>>
    /** Ends the active sessions of a deleted agent, whichever node works on them. */
    readonly endAllOfAgent: (agentId: number) => Effect.Effect<void>
    /** Ends the active sessions of a deleted project, as those of deleted agents. */
    readonly endAllOfProject: (projectId: number) => Effect.Effect<void>
    readonly deleteOlder: (days: number) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<TestSessionsRepo, never, SqlClient.SqlClient> = Layer.effect(
    TestSessionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const Id = Schema.Array(Schema.Struct({ id: Schema.Int }))
      const ids = (rows: unknown) => Schema.decodeUnknown(Id)(rows)

      const insert = Effect.fn("TestSessionsRepo.insert")(
        function* (session: NewTestSession, limit: number) {
          // Concurrent requests of a project count one after the other.
          yield* sql`select pg_advisory_xact_lock(hashtext('test_sessions'), ${session.project_id}::int)`
          const inserted = yield* sql`
            insert into test_sessions ${sql.insert({ ...session, metadata: jsonbText(session.metadata) })}
            returning id`
          const [row] = yield* ids(inserted)
          const active = yield* sql`
            select id from test_sessions
            where project_id = ${session.project_id} and ended_at is null limit ${limit + 1}`
          return row === undefined || active.length > limit ? yield* Effect.fail("full" as const) : row.id
        },
        sql.withTransaction,
        Effect.catchIf(
          (error) => error === "full",
          () => Effect.succeed(null)
        ),
        Effect.orDie
      )

      interface Wanted {
        readonly project: number
        readonly publicId: string
      }
      const isWanted = ({ project, publicId }: Wanted) => sql`project_id = ${project} and public_id = ${publicId}`
      const find = SqlSchema.findOne({
        Request: Schema.Any,
        Result: TestSessionRow,
        execute: (wanted: Wanted) => sql`
          select id, public_id, agent_id, agent_public_id, from_number, to_number, messages, created_at,
            ended_at, ended_reason
          from test_sessions where ${isWanted(wanted)}`
      })
      const head = SqlSchema.findOne({
        Request: Schema.Any,
        Result: TestSessionHead,
        execute: (wanted: Wanted) => sql`
          select id, public_id, agent_id, agent_public_id, from_number, to_number, created_at, ended_at, ended_reason
          from test_sessions where ${isWanted(wanted)}`
      })

      const store = Effect.fn("TestSessionsRepo.store")(
        function* (id: number, node: string, { ended, messages, rows }: Progress) {
          const held = yield* sql`
            update test_sessions set
              messages = messages || ${jsonbText(messages)}::jsonb,
              active_at = now(),
              ended_at = case when ${ended}::text is null then null else now() end,
              ended_reason = ${ended}::text
            where id = ${id} and node_id = ${node} and ended_at is null returning id`
          if (held.length === 0) return false
          yield* sql`
            insert into test_session_journal (session_id, seq, input, commands)
            select ${id}::bigint, * from unnest(
              ${rows.map((r) => r.seq)}::int[],
              ${rows.map((r) => jsonbText(r.input))}::jsonb[],
              ${rows.map((r) => r.commands)}::text[])`
          return true
        },
        sql.withTransaction,
        Effect.orDie
      )

      const journal = (id: number) =>
        Effect.flatMap(
          sql`select seq, input, commands from test_session_journal where session_id = ${id} order by seq`,
          decodeRows
        )

      const stored = Effect.fn("TestSessionsRepo.stored")(function* (publicId: string) {
        const [session] = yield* sql<{ readonly id: number; readonly call_id: string; readonly ended: boolean }>`
          select id, public_id as call_id, ended_at is not null as ended from test_sessions where public_id = ${publicId}`
        if (session === undefined) return Option.none()
        const rows = yield* sql<StoredJournal["rows"][number]>`
          select seq, input, commands from test_session_journal where session_id = ${session.id} order by seq`
        return Option.some({ call_id: session.call_id, ended: session.ended, rows })
      })

      const endAll = (of: Statement.Fragment) =>
        sql`
          update test_sessions set ended_at = now(), ended_reason = 'agent-deleted'
          where ${of} and ended_at is null`.pipe(Effect.asVoid, Effect.orDie)

      const Idle = Schema.Array(Schema.Struct({ public_id: Schema.String, project_id: Schema.Int }))

      return {
        insert,
        find: (project, publicId) => Effect.orDie(find({ project, publicId })),
        head: (project, publicId) => Effect.orDie(head({ project, publicId })),
        claim: (id, node) =>
          sql`
            update test_sessions set node_id = ${node}
            where id = ${id} and ended_at is null and (node_id is null or node_id = ${node}) returning id`.pipe(
            Effect.map((claimed) => claimed.length > 0),
            Effect.orDie
          ),
        store,
        journal: (id) => Effect.orDie(journal(id)),
        stored: (publicId) => Effect.orDie(stored(publicId)),
        release: (id, node) =>
          sql`update test_sessions set node_id = null where id = ${id} and node_id = ${node}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        releaseAllOf: (nodes) =>
          sql`update test_sessions set node_id = null where node_id = any(${nodes}::text[])`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        idle: Effect.fn("TestSessionsRepo.idle")(function* (minutes: number) {
          const rows = yield* sql`
            select public_id, project_id from test_sessions
            where ended_at is null and node_id is null and active_at < now() - make_interval(mins => ${minutes}::int)
            order by active_at limit 100`
          return yield* Schema.decodeUnknown(Idle)(rows)
        }, Effect.orDie),
        endAllOfAgent: (id) => endAll(sql`agent_id = ${id}`),
        endAllOfProject: (id) => endAll(sql`project_id = ${id}`),
        deleteOlder: (days) =>
          sql`delete from test_sessions where ended_at < now() - make_interval(days => ${days}::int)`.pipe(
            Effect.asVoid,
            Effect.orDie
          )
      }
    })
  )
}

import { randomBytes } from "node:crypto"
import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { CallOwner } from "../record/CallsRepo.ts"

/** A recorded call: its numeric and public id. */
const CallIds = Schema.Struct({ id: Schema.Int, public_id: CallOwner.fields.public_id })
export type CallIds = typeof CallIds.Type

/** A call whose recording has just become ready. */
const ReadyCall = Schema.Struct({
  ...CallIds.fields,
  org_id: Schema.Int,
  project_id: Schema.Int,
  agent_public_id: CallOwner.fields.agent_public_id
})

const PendingRecording = Schema.Struct({ ...CallIds.fields, is_old: Schema.Boolean })
export type PendingRecording = typeof PendingRecording.Type

/** Which recordings are past their retention. */
export interface Expiry {
  readonly days: number
  /** Organizations whose recordings are kept for `suspendedDays` only. */
  readonly suspended: ReadonlyArray<number>
  readonly suspendedDays: number
}

/** SQL of recordings and signing secrets. */
export class RecordingsRepo extends Context.Tag("@svc/call-engine/RecordingsRepo")<
  RecordingsRepo,
  {
    /** Adds the pending recording of a settled call; `writer` is the node that stores it, null when that node died. */
    readonly addPending: (call: CallIds & { readonly org_id: number }, writer: string | null) => Effect.Effect<void>
    /** Marks a recording as ready and returns its call. None when it was ready already or has been dropped. */
    readonly ready: (id: number) => Effect.Effect<Option.Option<typeof ReadyCall.Type>>
    /** Removes a recording. */
    readonly drop: (id: number) => Effect.Effect<void>
    /**
     * Pending recordings without a writer, or with one that has probably died; oldest first. `is_old`: for over a day.
     */
    readonly abandoned: (limit: number) => Effect.Effect<ReadonlyArray<PendingRecording>>
    /** Whether {@link abandoned} would find one: an expression for DueCheck. */
    readonly hasAbandoned: Statement.Fragment
    /** The organizations that have recordings older than `days`. */
    readonly organizations: (days: number) => Effect.Effect<ReadonlyArray<number>>
    readonly expired: (expiry: Expiry, limit: number) => Effect.Effect<ReadonlyArray<CallIds>>
    /** Finds a call of a project, and whether it has a recording. */
    readonly find: (
      projectId: number,
      id: { readonly numeric: number } | { readonly public: string }
    ) => Effect.Effect<Option.Option<CallIds & { readonly has_recording: boolean }>>
    /** The installation's secret for a purpose, created when first read. */
    readonly secret: (purpose: string) => Effect.Effect<string>
  }
>() {
  static readonly layer: Layer.Layer<RecordingsRepo, never, SqlClient.SqlClient> = Layer.effect(
    RecordingsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* StoredSecrets

      const ready = SqlSchema.findOne({
        Request: Schema.Int,
        Result: ReadyCall,
        execute: (id) => sql`
          with made as (
            update recordings set ready_at = now(), writer = null where call_id = ${id} and ready_at is null
            returning call_id
          )
          update calls c set has_recording = true from made where c.id = made.call_id
          returning c.id, c.public_id, c.org_id, c.project_id, c.agent_public_id`
      })
      const isAbandoned = sql`r.ready_at is null and (r.writer is null or r.created_at < now() - interval '2 minutes')`
      const abandoned = SqlSchema.findAll({
        Request: Schema.Int,
        Result: PendingRecording,
        execute: (limit) => sql`
          select c.id, c.public_id, r.created_at < now() - interval '1 day' as is_old
          from recordings r join calls c on c.id = r.call_id
          where ${isAbandoned}
          order by r.created_at limit ${limit}`
      })
      const expired = SqlSchema.findAll({
        Request: Schema.Any,
        Result: CallIds,
        execute: ({ days, limit, suspended, suspendedDays }: Expiry & { readonly limit: number }) => sql`
          select c.id, c.public_id from recordings r join calls c on c.id = r.call_id
          where r.ready_at is not null and (
            r.created_at < now() - make_interval(days => ${days}::int)
            or (
              r.org_id = any(${suspended}::bigint[])
              and r.created_at < now() - make_interval(days => ${suspendedDays}::int)
            )
          ) order by r.created_at limit ${limit}`
      })
      const organizations = SqlSchema.findAll({
        Request: Schema.Int,
        Result: Schema.Struct({ org_id: Schema.Int }),
        execute: (days) => sql`
          select distinct org_id from recordings
          where ready_at is not null and created_at < now() - make_interval(days => ${days}::int)`
      })
      const find = SqlSchema.findOne({
        Request: Schema.Any,
        Result: Schema.Struct({ ...CallIds.fields, has_recording: Schema.Boolean }),
        execute: ({ id, project }: { readonly project: number; readonly id: string | number }) => sql`
          select id, public_id, has_recording from calls
          where project_id = ${project} and ${typeof id === "number" ? sql`id = ${id}` : sql`public_id = ${id}`}`
      })
      const secret = SqlSchema.single({
        Request: Schema.String,
        Result: Schema.Struct({ secret: Schema.String }),
        execute: (purpose) => sql`select secret from signing_secrets where purpose = ${purpose}`
      })

      return {
        addPending: ({ id, org_id }, writer) =>
          sql`
            insert into recordings (call_id, org_id, writer) values (${id}, ${org_id}, ${writer})
            on conflict do nothing`.pipe(Effect.asVoid, Effect.orDie),
        ready: (id) => Effect.orDie(ready(id)),
        drop: (id) =>
          sql`
            with gone as (delete from recordings where call_id = ${id} returning call_id)
            update calls c set has_recording = false from gone where c.id = gone.call_id and c.has_recording`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        abandoned: (limit) => Effect.orDie(abandoned(limit)),
        hasAbandoned: sql`exists (select from recordings r where ${isAbandoned})`,
        organizations: (days) => Effect.map(Effect.orDie(organizations(days)), (rows) => rows.map((row) => row.org_id)),
        expired: (expiry, limit) => Effect.orDie(expired({ ...expiry, limit })),
        find: (project, id) => Effect.orDie(find({ project, id: "numeric" in id ? id.numeric : id.public })),
        secret: (purpose) =>
          sql`
            insert into signing_secrets (purpose, secret)
            values (${purpose}, ${box.seal(randomBytes(32).toString("hex"), `signing_secrets.secret:${purpose}`)})
            on conflict do nothing`.pipe(
            Effect.zipRight(secret(purpose)),
            Effect.flatMap((row) => box.open(row.secret, `signing_secrets.secret:${purpose}`)),
            Effect.orDie
          )
      }
    })
  )
}

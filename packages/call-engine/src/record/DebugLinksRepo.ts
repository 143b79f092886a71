import { SqlClient } from "@effect/sql"
import { KeyScope } from "@svc/api/accounts/ApiKey"
import { CallId } from "@svc/api/Ids"
import { Context, Effect, Layer, Option, Schema } from "effect"

/** A call that a link leads to. */
const DebugCall = Schema.Struct({ id: Schema.Int, public_id: CallId, project_id: Schema.Int })
export type DebugCall = typeof DebugCall.Type

const LinkRow = Schema.Struct({ ...DebugCall.fields, link_id: Schema.Int, scope: KeyScope })
const Ids = Schema.Array(Schema.Struct({ id: Schema.Int }))

/** A link that works. `scope` is that of the key that made it. */
export interface DebugLink {
  readonly id: number
  readonly scope: KeyScope
  readonly call: DebugCall
}

/** SQL of `debug_links`. `days`: the maximum age of a call. Hashes are SHA-256, hexadecimal. */
export class DebugLinksRepo extends Context.Tag("@svc/call-engine/DebugLinksRepo")<
  DebugLinksRepo,
  {
    /** The numeric id of a call; none when it started earlier. */
    readonly callOf: (publicId: CallId, days: number) => Effect.Effect<Option.Option<number>>
    /** Changes whenever links of the call are revoked. */
    readonly generation: (callId: number) => Effect.Effect<number>
    /** Stores a link that is not there yet. False when there is one with this hash that has been revoked. */
    readonly open: (link: {
      readonly call_id: number
      readonly scope: KeyScope
      readonly hash: string
    }) => Effect.Effect<boolean>
    readonly find: (hash: string, days: number) => Effect.Effect<Option.Option<DebugLink>>
    /** The ids of a call's links that work. */
    readonly openLinks: (callId: number, days: number) => Effect.Effect<ReadonlyArray<number>>
    /** Returns how many links ended. */
    readonly revokeAll: (callId: CallId) => Effect.Effect<ReadonlyArray<number>>
    /** A text that changes with what a debug page shows of a call, except its webhook deliveries. */
    readonly version: (callId: number) => Effect.Effect<string>
  }
>() {
  static readonly layer: Layer.Layer<DebugLinksRepo, never, SqlClient.SqlClient> = Layer.effect(
    DebugLinksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isRetained = (days: number) => sql`c.started_at > now() - make_interval(days => ${days}::int)`
      const ids = Schema.decodeUnknown(Ids)
      const links = Schema.decodeUnknown(Schema.Array(LinkRow))
      const versions = Schema.decodeUnknown(Schema.Array(Schema.Struct({ version: Schema.String })))
      return {
        callOf: Effect.fn("DebugLinksRepo.callOf")(function* (publicId: CallId, days: number) {
          const rows = yield* ids(
            yield* sql`select c.id from calls c where c.public_id = ${publicId} and ${isRetained(days)}`
          )
          return Option.map(Option.fromNullable(rows[0]), ({ id }) => id)
        }, Effect.orDie),
        generation: Effect.fn("DebugLinksRepo.generation")(function* (callId: number) {
          const rows = yield* ids(
            yield* sql`
              select coalesce(max(id), 0) as id from debug_links where call_id = ${callId} and revoked_at is not null`
          )
          return rows[0]?.id ?? 0
        }, Effect.orDie),
        open: Effect.fn("DebugLinksRepo.open")(function* ({ call_id, hash, scope }) {
          yield* sql`
            insert into debug_links (call_id, scope, token_hash) values (${call_id}, ${scope}, decode(${hash}, 'hex'))
            on conflict (token_hash) do nothing`
          const open =
            yield* sql`select 1 from debug_links where token_hash = decode(${hash}, 'hex') and revoked_at is null`
          return open.length > 0
        }, Effect.orDie),
        find: Effect.fn("DebugLinksRepo.find")(function* (hash: string, days: number) {
          const [row] = yield* links(
            yield* sql`
              select c.id, c.public_id, c.project_id, l.id as link_id, l.scope
              from debug_links l join calls c on c.id = l.call_id
              where l.token_hash = decode(${hash}, 'hex') and l.revoked_at is null and ${isRetained(days)}`
          )
          if (row === undefined) return Option.none()
          const { link_id, scope, ...call } = row
          return Option.some({ id: link_id, scope, call })
        }, Effect.orDie),
        openLinks: Effect.fn("DebugLinksRepo.openLinks")(function* (callId: number, days: number) {
          const rows = yield* ids(
            yield* sql`
              select l.id from debug_links l join calls c on c.id = l.call_id
              where l.call_id = ${callId} and l.revoked_at is null and ${isRetained(days)}`
          )
          return rows.map(({ id }) => id)
        }, Effect.orDie),
        revokeAll: Effect.fn("DebugLinksRepo.revokeAll")(function* (callId: CallId) {
          const rows = yield* ids(
            yield* sql`
              update debug_links l set revoked_at = now() from calls c
              where c.id = l.call_id and c.public_id = ${callId} and l.revoked_at is null returning l.call_id as id`
          )
          return rows.map(({ id }) => id)
        }, Effect.orDie),
        version: Effect.fn("DebugLinksRepo.version")(function* (callId: number) {
          const rows = yield* versions(
            yield* sql`
              select concat_ws(' ', c.status, c.ended_at, c.has_recording, c.recording_enabled,
                (select max(seq) from call_journal where call_id = c.id),
                (select max(id) from callback_exchanges where call_id = c.id)) as version
              from calls c where c.id = ${callId}`
          )
          return rows[0]?.version ?? ""
        }, Effect.orDie)
      }
    })
  )
}

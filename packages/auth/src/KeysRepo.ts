import { SqlClient, SqlSchema } from "@effect/sql"
import { WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { OrgId, ProjectId } from "@svc/api/Ids"
import { Tier } from "@svc/api/Principal"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import type { KeyHolder } from "./KeyOwner.ts"
import { KeyRecord } from "./KeyRecord.ts"

/** An active voice API key with its organization and project. */
export const KeyRow = Schema.Struct({
  id: Schema.Number,
  kind: Schema.Literal("org", "project"),
  scope: Schema.Literal("full", "read"),
  org_id: Schema.Number,
  org_public_id: OrgId,
  tier: Tier,
  project_id: Schema.NullOr(Schema.Number),
  project_public_id: Schema.NullOr(ProjectId)
})
export type KeyRow = typeof KeyRow.Type

/** An active workspace key with its organization. */
export const WorkspaceKeyRow = Schema.Struct({
  id: Schema.Number,
  scopes: Schema.Array(WorkspaceScope),
  expires_at: Schema.NullOr(Schema.DateFromSelf),
  org_id: Schema.Number,
  org_public_id: OrgId,
  tier: Tier
})
export type WorkspaceKeyRow = typeof WorkspaceKeyRow.Type

/** A key to store. Project keys have a `scope`, workspace keys `scopes`. */
export const NewKeyRow = Schema.Struct({
  kind: Schema.Literal("org", "project", "workspace"),
  org_id: Schema.Number,
  project_id: Schema.NullOr(Schema.Number),
  name: Schema.String,
  scope: Schema.NullOr(Schema.Literal("full", "read")),
  scopes: Schema.NullOr(Schema.Array(WorkspaceScope)),
  expires_at: Schema.NullOr(Schema.DateFromSelf),
  /** SHA-256, hexadecimal. */
  hash: Schema.String,
  key_hint: Schema.String
})
export type NewKeyRow = typeof NewKeyRow.Type

/** `refused`: the key on whose behalf it was tried has been revoked itself. */
export type RevocationOutcome = "revoked" | "not-found" | "refused"

/** Table `api_keys`. */
export class KeysRepo extends Context.Tag("@svc/auth/KeysRepo")<
  KeysRepo,
  {
    /** The active voice API key with this hash: not revoked, not expired, its project not deleted. */
    readonly findActive: (hash: string) => Effect.Effect<Option.Option<KeyRow>>
    /** The active workspace key with this hash. */
    readonly findWorkspace: (hash: string) => Effect.Effect<Option.Option<WorkspaceKeyRow>>
    readonly insert: (row: NewKeyRow) => Effect.Effect<KeyRecord>
    /** Newest first. `revoked`: whether to include revoked keys. */
    readonly page: (
      holder: KeyHolder,
      query: { readonly limit: number; readonly offset: number; readonly revoked: boolean }
    ) => Effect.Effect<ReadonlyArray<KeyRecord>>
    /** By numeric id, of any organization, also when revoked. */
    readonly find: (keyId: number) => Effect.Effect<Option.Option<KeyRecord>>
    /** False when the holder has no such key or it is already revoked. */
    readonly revoke: (holder: KeyHolder, keyId: number) => Effect.Effect<boolean>
    /**
     * The same on behalf of the key `by`, which must be active itself. Of keys that revoke each other at once, one stays.
     */
    readonly revokeBy: (holder: KeyHolder, keyId: number, by: number) => Effect.Effect<RevocationOutcome>
    /** Writes `last_used_at` of many keys (key id → ms), each at most once a minute over all nodes. */
    readonly recordUse: (uses: ReadonlyArray<readonly [number, number]>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<KeysRepo, never, SqlClient.SqlClient> = Layer.effect(
    KeysRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(KeyRecord.fields).join(", "))
      const records = Schema.decodeUnknown(Schema.Array(KeyRecord))

      const findActive = SqlSchema.findOne({
        Request: Schema.String,
        Result: KeyRow,
        execute: (hash) => sql`
          select k.id, k.kind, coalesce(k.scope, 'full') as scope,
            o.id as org_id, o.public_id as org_public_id, o.tier,
            p.id as project_id, p.public_id as project_public_id
          from api_keys k
          join organizations o on o.id = k.org_id
          left join projects p on p.id = k.project_id
          where k.key_hash = decode(${hash}, 'hex')
            and k.kind in ('org', 'project')
            and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > now())
            and p.deleted_at is null`
      })
      const insert = SqlSchema.single({
        Request: NewKeyRow,
        Result: KeyRecord,
        execute: (row) => sql`
          insert into api_keys (kind, org_id, project_id, name, scope, scopes, expires_at, key_hash, key_hint)
          values (${row.kind}, ${row.org_id}, ${row.project_id}, ${row.name}, ${row.scope}, ${row.scopes},
            ${row.expires_at}, decode(${row.hash}, 'hex'), ${row.key_hint})
          returning ${columns}`
      })
      const findWorkspace = SqlSchema.findOne({
        Request: Schema.String,
        Result: WorkspaceKeyRow,
        execute: (hash) => sql`
          select k.id, k.scopes, k.expires_at, o.id as org_id, o.public_id as org_public_id, o.tier
          from api_keys k join organizations o on o.id = k.org_id
          where k.key_hash = decode(${hash}, 'hex')
            and k.kind = 'workspace'
            and k.revoked_at is null
            and (k.expires_at is null or k.expires_at > now())`
      })
      const find = SqlSchema.findOne({
        Request: Schema.Number,
        Result: KeyRecord,
        execute: (id) => sql`select ${columns} from api_keys where id = ${id}`
      })
      const heldBy = (holder: KeyHolder) =>
        holder.kind === "project"
          ? sql`kind = 'project' and org_id = ${holder.org_id} and project_id = ${holder.project_id}`
          : sql`kind = ${holder.kind} and org_id = ${holder.org_id}`

      const revoke = (holder: KeyHolder, keyId: number) =>
        sql`
          update api_keys set revoked_at = now()
          where id = ${keyId} and ${heldBy(holder)} and revoked_at is null
          returning id`.pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.orDie
        )
      const revokeBy = (holder: KeyHolder, keyId: number, by: number) =>
        Effect.gen(function* () {
          // Both are locked in the order of their ids, so that two keys that revoke each other do not deadlock. The
          // second statement sees what was committed while this one waited.
          yield* sql`select 1 from api_keys where id in (${keyId}, ${by}) order by id for update`
          const active = yield* sql`select 1 from api_keys where id = ${by} and revoked_at is null`
          if (active.length === 0) return "refused"
          return (yield* revoke(holder, keyId)) ? "revoked" : "not-found"
        })

      return {
        findActive: (hash) => Effect.orDie(findActive(hash)),
        findWorkspace: (hash) => Effect.orDie(findWorkspace(hash)),
        insert: (row) => Effect.orDie(insert(row)),
        page: (holder, { limit, offset, revoked }) =>
          sql`
            select ${columns} from api_keys
            where ${heldBy(holder)} ${revoked ? sql`` : sql`and revoked_at is null`}
            order by id desc limit ${limit} offset ${offset}`.pipe(Effect.flatMap(records), Effect.orDie),
        find: (keyId) => Effect.orDie(find(keyId)),
        revoke,
        revokeBy: (holder, keyId, by) => Effect.orDie(sql.withTransaction(revokeBy(holder, keyId, by))),
        recordUse: (uses) =>
          sql`
            update api_keys k set last_used_at = to_timestamp(u.ms / 1000)
            from unnest(${uses.map(([id]) => id)}::bigint[], ${uses.map(([, ms]) => ms)}::float8[]) as u(id, ms)
            where k.id = u.id
              and (k.last_used_at is null or k.last_used_at <= to_timestamp(u.ms / 1000) - interval '1 minute')`.pipe(
            Effect.asVoid,
            Effect.orDie
          )
      }
    })
  )
}

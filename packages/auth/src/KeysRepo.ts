import { SqlClient, SqlSchema } from "@effect/sql"
import { OrgId, ProjectId } from "@svc/api/Ids"
import { Tier } from "@svc/api/Principal"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** An active voice API key with whose it is. */
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

/** A key to be stored. `scope` is of project keys, `scopes` of workspace keys. */
export const NewKeyRow = Schema.Struct({
  kind: Schema.Literal("org", "project", "workspace"),
  org_id: Schema.Number,
  project_id: Schema.NullOr(Schema.Number),
  name: Schema.String,
  scope: Schema.NullOr(Schema.Literal("full", "read")),
  scopes: Schema.NullOr(Schema.Array(Schema.String)),
  /** SHA-256, hexadecimal. */
  hash: Schema.String,
  key_hint: Schema.String
})
export type NewKeyRow = typeof NewKeyRow.Type

/** Table `api_keys`. */
export class KeysRepo extends Context.Tag("@svc/auth/KeysRepo")<
  KeysRepo,
  {
    /** The active voice API key with this hash: not revoked, not expired, its project not deleted. */
    readonly findActive: (hash: string) => Effect.Effect<Option.Option<KeyRow>>
    readonly insert: (row: NewKeyRow) => Effect.Effect<number>
    readonly revoke: (orgId: number, keyId: number) => Effect.Effect<boolean>
    /** Writes `last_used_at` of many keys (key id → ms), each at most once a minute whichever node asks. */
    readonly recordUse: (uses: ReadonlyArray<readonly [number, number]>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<KeysRepo, never, SqlClient.SqlClient> = Layer.effect(
    KeysRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

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
        Result: Schema.Struct({ id: Schema.Number }),
        execute: (row) => sql`
          insert into api_keys (kind, org_id, project_id, name, scope, scopes, key_hash, key_hint)
          values (${row.kind}, ${row.org_id}, ${row.project_id}, ${row.name}, ${row.scope}, ${row.scopes},
            decode(${row.hash}, 'hex'), ${row.key_hint})
          returning id`
      })

      return {
        findActive: (hash) => Effect.orDie(findActive(hash)),
        insert: (row) => Effect.orDie(Effect.map(insert(row), ({ id }) => id)),
        revoke: (orgId, keyId) =>
          sql`
            update api_keys set revoked_at = now()
            where id = ${keyId} and org_id = ${orgId} and revoked_at is null
            returning id`.pipe(
            Effect.map((rows) => rows.length > 0),
            Effect.orDie
          ),
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

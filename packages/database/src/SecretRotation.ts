import { SqlClient } from "@effect/sql"
import { Data, Effect, Either } from "effect"
import { keyIdOf, missingKey, type SecretPlace, StoredSecrets } from "./StoredSecrets.ts"

/** Secrets are stored that this server has no key for. */
export class SecretKeyMissing extends Data.TaggedError("SecretKeyMissing")<{ readonly message: string }> {}

/** Rows that one batch encrypts. */
const batchSize = 500
/** Rows that are written at once, each by a statement of its own: one that locked many could deadlock with a server's. */
const writtenAtOnce = 4

/** The signing secrets of all packages: encryption at rest is one mechanism, and this the one place that names them. */
const columns = [
  { table: "webhooks", column: "secret", row: "id", type: "bigint", name: "webhooks.secret" },
  { table: "agents", column: "server_secret", row: "public_id", type: "text", name: "agents.server_secret" },
  { table: "signing_secrets", column: "secret", row: "purpose", type: "text", name: "signing_secrets.secret" }
] as const

interface StoredRow {
  readonly row: string
  readonly stored: string
}

/** All stored secrets of a column, in batches; a secret that changes meanwhile may be missed, as its writer encrypts. */
const eachBatch = <E, R>(
  { column, row, table }: (typeof columns)[number],
  work: (batch: ReadonlyArray<StoredRow>) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    let after: string | undefined
    do {
      const batch: ReadonlyArray<StoredRow> = yield* Effect.orDie(sql<StoredRow>`
        select ${sql(row)}::text as row, ${sql(column)} as stored from ${sql(table)}
        where ${after === undefined ? sql`true` : sql`${sql(row)}::text > ${after}`}
        order by ${sql(row)}::text limit ${batchSize}`)
      yield* work(batch)
      after = batch.length < batchSize ? undefined : batch.at(-1)?.row
    } while (after !== undefined)
  })

/** How many secrets each key has encrypted; without a key: those that are not encrypted. */
const countsByKey = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.orDie(sql<{ readonly key: string | null; readonly count: number }>`
    select case when secret like 'enc:v1:%' then split_part(secret, ':', 3) end as key, count(*)::int as count
    from (
      select secret from webhooks
      union all select server_secret from agents
      union all select secret from signing_secrets
    ) stored group by 1`)
)

/** Fails when the key of a stored secret is missing, with the ids of all such keys. Reads each table once. */
export const checkKeys: Effect.Effect<string, SecretKeyMissing, SqlClient.SqlClient> = Effect.gen(function* () {
  const box = yield* StoredSecrets
  const counts = yield* countsByKey
  const missing = new Map<string, number>()
  for (const { count, key } of counts) {
    if (key !== null && !box.hasKey(key)) missing.set(key, (missing.get(key) ?? 0) + count)
  }
  if (missing.size > 0) {
    const reasons = [...missing].map(([id, count]) => `${count} signing secrets in the database are ${missingKey(id)}`)
    return yield* new SecretKeyMissing({ message: reasons.join("; ") })
  }
  const sum = (isEncrypted: boolean) =>
    counts.filter(({ key }) => (key !== null) === isEncrypted).reduce((total, { count }) => total + count, 0)
  return `${sum(true)} signing secrets are encrypted, ${sum(false)} are not`
})

/**
 * Encrypts all stored secrets with the current key, in batches, beside running servers: a secret that was changed since it
 * was read is left to its writer. Returns how many were written. Secrets without their key stay, and fail it at the end.
 */
export const reencrypt: Effect.Effect<number, SecretKeyMissing, SqlClient.SqlClient> = Effect.gen(function* () {
  const box = yield* StoredSecrets
  const sql = yield* SqlClient.SqlClient
  if (box.currentKey === undefined) {
    return yield* new SecretKeyMissing({ message: "SVC_SECRET_KEY is not set: there is no key to encrypt with" })
  }
  let written = 0
  for (const column of columns) {
    yield* eachBatch(column, (batch) =>
      Effect.forEach(
        batch.filter(({ stored }) => keyIdOf(stored) !== box.currentKey),
        ({ row, stored }) => {
          const place: SecretPlace = `${column.name}:${row}`
          const secret = box.open(stored, place)
          if (Either.isLeft(secret)) return Effect.void
          const sealed = box.seal(secret.right, place)
          return sql`
            update ${sql(column.table)} set ${sql(column.column)} = ${sealed}
            where ${sql(column.row)} = ${row}::${sql.literal(column.type)} and ${sql(column.column)} = ${stored} returning 1 as one`.pipe(
            Effect.tap((rows) =>
              Effect.sync(() => {
                written += rows.length
              })
            ),
            Effect.orDie
          )
        },
        { concurrency: writtenAtOnce, discard: true }
      )
    )
  }
  yield* checkKeys
  return written
})

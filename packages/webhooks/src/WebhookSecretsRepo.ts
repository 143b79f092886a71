import { SqlClient } from "@effect/sql"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import { Effect, Schema } from "effect"
import { NewWebhook, type WebhookRow } from "./WebhookRow.ts"

/** The columns of a new webhook with its id, which the encryption of its secret is bound to. */
export const SealedWebhook = Schema.Struct({ ...NewWebhook.fields, id: Schema.Int })
export type SealedWebhook = typeof SealedWebhook.Type

/** Encrypts the secrets of rows that are written, and decrypts those of rows that are read. */
export const webhookSecrets: Effect.Effect<
  {
    /** The columns of a new webhook, with its id and its secret as it is stored. */
    readonly sealNew: (row: NewWebhook) => Effect.Effect<SealedWebhook>
    readonly seal: (id: number, secret: string) => string
    /** A secret that cannot be decrypted is a defect. */
    readonly open: (row: WebhookRow) => Effect.Effect<WebhookRow>
  },
  never,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const box = yield* StoredSecrets
  const seal = (id: number, secret: string) => box.seal(secret, `webhooks.secret:${id}`)
  return {
    seal,
    sealNew: (row) =>
      sql<{ readonly id: number }>`select nextval(pg_get_serial_sequence('webhooks', 'id'))::bigint as id`.pipe(
        Effect.flatMap(([drawn]) => Effect.fromNullable(drawn)),
        Effect.map(({ id }) => ({ ...row, id, secret: seal(id, row.secret) })),
        Effect.orDie
      ),
    open: (row) =>
      Effect.map(Effect.orDie(box.open(row.secret, `webhooks.secret:${row.id}`)), (secret) => ({ ...row, secret }))
  }
})

import { SqlClient, type SqlError } from "@effect/sql"
import type { BookingCustomer } from "@svc/api/bookings/BookingCustomer"
import { JsonObject } from "@svc/api/Wire"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Data, Effect, Layer, Option, Schema } from "effect"

/** An idempotency key of an API key. */
export interface ClientKey {
  /** The API key. */
  readonly key_id: number
  /** The `Idempotency-Key` of the request. */
  readonly key: string
}

/** The stored answer to a request, without its request id. */
export interface StoredAnswer {
  readonly status: number
  readonly answer: JsonObject
}

const StoredAnswerRow = Schema.Struct({
  fingerprint: Schema.instanceOf(Uint8Array),
  status: Schema.Int,
  answer: JsonObject
})

/** The first request with this key still runs after the wait. */
export class StillRunning extends Data.TaggedError("StillRunning") {}

/** Hours for which an answer is stored. */
const retention = "24 hours"

/** SQLSTATE of a lock timeout. */
const lockNotAvailable = "55P03"

const isTimeout = (error: SqlError.SqlError): boolean =>
  typeof error.cause === "object" &&
  error.cause !== null &&
  "code" in error.cause &&
  error.cause.code === lockNotAvailable

/**
 * Tables `idempotency_keys` and `idempotency_key_counts`. The row of a key is written in the transaction of the
 * request's effect, so neither exists without the other; a transaction that claims the same key waits for that one to
 * end.
 */
export class IdempotencyRepo extends Context.Tag("@svc/bookings/IdempotencyRepo")<
  IdempotencyRepo,
  {
    /**
     * Claims a key in the current transaction. None: claimed; `answer` must follow in the same transaction. Waits at
     * most `waitMs` (1 or more) for a transaction that holds the key.
     */
    readonly claim: (
      name: ClientKey,
      fingerprint: Uint8Array,
      waitMs: number
    ) => Effect.Effect<Option.Option<StoredAnswer & { readonly fingerprint: Uint8Array }>, StillRunning>
    /** Writes the answer of a key claimed in this transaction. */
    readonly answer: (name: ClientKey, answer: StoredAnswer) => Effect.Effect<void>
    /** Counts a key against today's quota of its API key; false, and not counted, when `quota` is reached. */
    readonly count: (keyId: number, quota: number) => Effect.Effect<boolean>
    /** Replaces this customer in every stored answer that contains it. */
    readonly replaceCustomer: (customer: BookingCustomer) => Effect.Effect<void>
    /** Removes at most `limit` expired keys, and old counts; returns the number of keys. */
    readonly purge: (limit: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<IdempotencyRepo, never, SqlClient.SqlClient> = Layer.effect(
    IdempotencyRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const decode = Schema.decodeUnknown(Schema.Array(StoredAnswerRow))

      const insert = ({ key, key_id }: ClientKey, fingerprint: Uint8Array) => sql`
        insert into idempotency_keys as known (api_key_id, key, fingerprint) values (${key_id}, ${key}, ${fingerprint})
        on conflict (api_key_id, key) do update
        set fingerprint = excluded.fingerprint, status = null, answer = null, created_at = now()
        where known.created_at <= now() - ${retention}::interval
        returning 1`

      return {
        claim: Effect.fn("IdempotencyRepo.claim")(function* (name, fingerprint, waitMs) {
          yield* Effect.orDie(sql`select set_config('lock_timeout', ${`${waitMs}ms`}, true)`)
          const taken = yield* Effect.catchAll(insert(name, fingerprint), (error) =>
            isTimeout(error) ? new StillRunning() : Effect.die(error)
          )
          yield* Effect.orDie(sql`set local lock_timeout to default`)
          if (taken.length > 0) return Option.none()
          const rows = yield* Effect.orDie(sql`
            select fingerprint, status, answer from idempotency_keys
            where api_key_id = ${name.key_id} and key = ${name.key}`)
          return Option.fromNullable((yield* Effect.orDie(decode(rows)))[0])
        }),
        answer: ({ key, key_id }, { answer, status }) =>
          sql`
            update idempotency_keys set status = ${status}, answer = ${jsonbText(answer)}::json
            where api_key_id = ${key_id} and key = ${key}`.pipe(Effect.asVoid, Effect.orDie),
        count: (keyId, quota) =>
          sql`
            insert into idempotency_key_counts as counted (api_key_id, day, keys)
            values (${keyId}, (now() at time zone 'UTC')::date, 1)
            on conflict (api_key_id, day) do update set keys = counted.keys + 1 where counted.keys < ${quota}
            returning 1`.pipe(
            Effect.map((rows) => rows.length > 0),
            Effect.orDie
          ),
        replaceCustomer: Effect.fn("IdempotencyRepo.replaceCustomer")(function* (customer) {
          const containsCustomer = sql`answer #>> '{data,id}' = ${customer.id} and answer #>> '{data,name}' is not null`
          // An expired row may be locked by a request that claims its key again, which may itself wait for this
          // customer.
          yield* sql`
            delete from idempotency_keys where (api_key_id, key) in (
              select api_key_id, key from idempotency_keys
              where ${containsCustomer} and created_at <= now() - ${retention}::interval for update skip locked
            )`
          yield* sql`
            update idempotency_keys set answer = json_build_object('data', ${jsonbText(customer)}::json)
            where ${containsCustomer} and created_at > now() - ${retention}::interval`
        }, Effect.orDie),
        purge: Effect.fn("IdempotencyRepo.purge")(function* (limit) {
          yield* sql`delete from idempotency_key_counts where day < (now() at time zone 'UTC')::date - 1`
          const removed = yield* sql`
            delete from idempotency_keys where (api_key_id, key) in (
              select api_key_id, key from idempotency_keys
              where created_at <= now() - ${retention}::interval limit ${limit} for update skip locked
            )
            returning 1`
          return removed.length
        }, Effect.orDie)
      }
    })
  )
}

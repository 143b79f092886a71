import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { canonicalJson } from "@svc/api/CanonicalJson"
import { yieldThread } from "@svc/api/JsonLimits"
import { IdempotencyKeyConflict, IdempotencyKeyQuotaExceeded } from "@svc/api/WorkspaceError"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import { Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { type ClientKey, IdempotencyRepo, type StoredAnswer } from "./IdempotencyRepo.ts"
import * as KeyedMutex from "./KeyedMutex.ts"

/** A request that carries an idempotency key. */
export interface KeyedRequest extends ClientKey {
  /** The content of the request as JSON, by which requests are compared. The order of fields does not matter. */
  readonly content: unknown
}

/** Whole seconds until the quota resets. */
const secondsUntilReset = Effect.map(DateTime.now, (now) => {
  const tomorrow = DateTime.add(DateTime.startOf(now, "day"), { days: 1 })
  return Math.ceil(Duration.toSeconds(DateTime.distanceDuration(now, tomorrow)))
})

/** An answer, and whether it is a stored one. */
export interface IdempotentAnswer extends StoredAnswer {
  readonly replayed: boolean
}

/** How long a request waits for a concurrent one with the same key. */
const waitTimeout = Duration.seconds(5)

const keyInUse = () => new IdempotencyKeyConflict({ message: "A request with this Idempotency-Key is still running" })

/** The longest content, in characters, that is digested and used without a pause between. */
const smallCharacters = 16 * 1024

/** What requests are compared by. */
const fingerprintOf = (content: unknown): Effect.Effect<Buffer> =>
  Effect.suspend(() => {
    const text = canonicalJson(content)
    const fingerprint = Effect.succeed(createHash("sha256").update(text).digest())
    return text.length > smallCharacters ? Effect.zipLeft(fingerprint, yieldThread) : fingerprint
  })

/**
 * One effect and one answer for each idempotency key of an API key, for 24 hours.
 *
 * The key, the effect and the answer are one transaction: when this process dies, all or none of them are stored, and a
 * repetition finds the answer or starts again. Concurrent repetitions wait for that transaction to end.
 */
export class Idempotency extends Context.Tag("@svc/bookings/Idempotency")<
  Idempotency,
  {
    /**
     * Returns the stored answer of the key, or runs `work` in a transaction and stores its answer. When `work` fails,
     * nothing is stored: its effect is rolled back and the key is free again.
     *
     * `IdempotencyKeyConflict`: the key belongs to a different request, or to one still running after 5 seconds.
     * `IdempotencyKeyQuotaExceeded`: the API key has used all keys of today's quota; `work` had no effect.
     */
    readonly once: <E>(
      request: KeyedRequest,
      work: Effect.Effect<StoredAnswer, E>
    ) => Effect.Effect<IdempotentAnswer, E | IdempotencyKeyConflict | IdempotencyKeyQuotaExceeded>
  }
>() {
  static readonly layer: Layer.Layer<Idempotency, never, IdempotencyRepo | WorkspaceLimits | SqlClient.SqlClient> =
    Layer.effect(
      Idempotency,
      Effect.gen(function* () {
        const repo = yield* IdempotencyRepo
        const { idempotencyKeysPerDay } = yield* WorkspaceLimits
        const sql = yield* SqlClient.SqlClient

        const mutex = KeyedMutex.make()

        const claimed = <E>(name: ClientKey, fingerprint: Buffer, work: Effect.Effect<StoredAnswer, E>, left: number) =>
          Effect.gen(function* () {
            const stored = yield* Effect.catchTag(repo.claim(name, fingerprint, left), "StillRunning", keyInUse)
            if (Option.isSome(stored)) {
              const { answer, fingerprint: first, status } = stored.value
              return fingerprint.equals(first)
                ? { answer, status, replayed: true }
                : yield* new IdempotencyKeyConflict()
            }
            const fresh = yield* work
            yield* repo.answer(name, fresh)
            // Last, so that requests of one API key wait for each other only here.
            if (!(yield* repo.count(name.key_id, idempotencyKeysPerDay))) {
              return yield* new IdempotencyKeyQuotaExceeded({ retryAfter: yield* secondsUntilReset })
            }
            return { ...fresh, replayed: false }
          }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))

        return {
          // Requests with the same key on this node wait here without a database connection; on other nodes in the
          // database.
          once: ({ content, ...name }, work) =>
            Effect.flatMap(fingerprintOf(content), (fingerprint) =>
              mutex.run(`${name.key_id} ${name.key}`, { timeout: waitTimeout, onTimeout: keyInUse }, (left) =>
                claimed(name, fingerprint, work, left)
              )
            )
        }
      })
    )
}

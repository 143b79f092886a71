import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { made, organization, request, workspaceServer } from "../../servers/WorkspaceServer.ts"
import type { EnvelopeAnswer } from "../../servers/WorkspaceWire.ts"

/** Requests whose `Idempotency-Key` belongs to a request that still runs. */

const isReplay = ({ headers }: EnvelopeAnswer) => headers["idempotency-replayed"] === "true"

/** The text of a body but for the request's id. */
const textOf = ({ body, text }: EnvelopeAnswer) => text.replaceAll(body.meta.request_id, "")

/**
 * Holds the row of a customer, so that changes of it wait, until `release` or the end of the scope. `blocked` waits until
 * so many of the server's statements, or more, wait for a lock. Both have connections of their own.
 */
const hold = (id: string) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const sql = yield* Effect.map(Layer.build(pool(Redacted.value(url), 2)), (context) =>
      Context.get(context, SqlClient.SqlClient)
    )
    const held = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const holder = yield* sql`select 1 from booking_customers where public_id = ${id} for update`.pipe(
      Effect.zipRight(Deferred.succeed(held, undefined)),
      Effect.zipRight(Deferred.await(go)),
      sql.withTransaction,
      Effect.forkScoped
    )
    yield* Deferred.await(held)
    const blocked = (count: number) =>
      sql<{ readonly waiting: number }>`
        select count(*) as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.pipe(
        Effect.repeat({ until: ([row]) => (row?.waiting ?? 0) >= count }),
        Effect.asVoid
      )
    return { release: Effect.zipRight(Deferred.succeed(go, undefined), Fiber.join(holder)), blocked }
  })

/** Completes when earlier requests have arrived: a request that waits for the first does so in the server, unobserved. */
const passed = (key: string) => request("GET", "", { key })

layer(workspaceServer(), { excludeTestServices: true })(
  "a request with the Idempotency-Key of a running request",
  (it) => {
    it.scoped("waits for the first and gets its response", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "twins" })
        const { blocked, release } = yield* hold(id)
        const first = yield* Effect.fork(patch)
        yield* blocked(1)
        const second = yield* Effect.fork(patch)
        yield* passed(key)
        yield* release
        const answers = [yield* Fiber.join(first), yield* Fiber.join(second)] as const
        expect(answers.map((answer) => [answer.status, isReplay(answer)])).toEqual([
          [200, false],
          [200, true]
        ])
        expect(textOf(answers[0])).toBe(textOf(answers[1]))
      })
    )

    it.scoped("conflicts when it is a different request, once the first has ended", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const { blocked, release } = yield* hold(id)
        const first = yield* Effect.fork(request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "other" }))
        yield* blocked(1)
        const second = yield* Effect.fork(request("PATCH", `/${id}`, { key, body: { name: "Eve" }, once: "other" }))
        yield* passed(key)
        yield* release
        expect((yield* Fiber.join(first)).customer.name).toBe("Bo")
        expect((yield* Fiber.join(second)).code).toBe("IDEMPOTENCY_KEY_CONFLICT")
      })
    )

    it.scoped("conflicts after waiting 5 seconds, and the first goes on", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "slow" })
        const { blocked, release } = yield* hold(id)
        const first = yield* Effect.fork(patch)
        yield* blocked(1)
        const [waited, second] = yield* Effect.timed(patch)
        expect(second.code).toBe("IDEMPOTENCY_KEY_CONFLICT")
        expect(Duration.toMillis(waited)).toBeGreaterThanOrEqual(4_900)
        yield* release
        expect((yield* Fiber.join(first)).customer.name).toBe("Bo")
        expect(isReplay(yield* patch)).toBe(true)
      })
    )

    it.scoped("gets the response of the first when the client disconnected and sent it again", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "again" })
        const { blocked, release } = yield* hold(id)
        const first = yield* Effect.fork(patch)
        yield* blocked(1)
        yield* Fiber.interrupt(first)
        const second = yield* Effect.fork(patch)
        yield* passed(key)
        yield* release
        const answer = yield* Fiber.join(second)
        expect([answer.status, answer.customer.name, isReplay(answer)]).toEqual([200, "Bo", true])
        const sql = yield* SqlClient.SqlClient
        const events = yield* sql`
        select 1 from events where event = 'booking_customer.updated' and data ->> 'customer_id' = ${id}`
        expect(events).toHaveLength(1)
      })
    )

    it.scoped("whose key expired after 24 hours does not block the anonymization of the customer of the first", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "old" })
        expect((yield* patch).status).toBe(200)
        const sql = yield* SqlClient.SqlClient
        yield* sql`update idempotency_keys set created_at = created_at - interval '25 hours'`
        const { blocked, release } = yield* hold(id)
        const erasing = yield* Effect.fork(request("POST", `/${id}/anonymize`, { key }))
        yield* blocked(1)
        const changing = yield* Effect.fork(patch)
        yield* blocked(2)
        yield* release
        expect((yield* Fiber.join(erasing)).status).toBe(200)
        expect((yield* Fiber.join(changing)).code).toBe("INVALID_STATE")
      })
    )

    it.scoped("twenty that wait for one all conflict after 5 seconds", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "many" })
        const { blocked, release } = yield* hold(id)
        const first = yield* Effect.fork(patch)
        yield* blocked(1)
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.exit(Effect.timed(patch))),
          { concurrency: "unbounded" }
        )
        yield* release
        expect((yield* Fiber.join(first)).customer.name).toBe("Bo")
        const answers = outcomes.map((outcome) =>
          Exit.isSuccess(outcome)
            ? [outcome.value[1].code, Duration.toSeconds(outcome.value[0]) < 8]
            : ["not as promised"]
        )
        expect(answers).toEqual(answers.map(() => ["IDEMPOTENCY_KEY_CONFLICT", true]))
      })
    )

    it.scoped("does not delay requests with other keys while it waits", () =>
      Effect.gen(function* () {
        const { key } = yield* organization()
        const { id } = yield* made(key)
        const other = yield* organization()
        const patch = request("PATCH", `/${id}`, { key, body: { name: "Bo" }, once: "crowd" })
        const { blocked, release } = yield* hold(id)
        const crowd = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 12 }, () => patch),
            { concurrency: "unbounded" }
          )
        )
        yield* blocked(1)
        const reads = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.timed(Effect.exit(request("GET", "", { key: other.key }))))
        )
        yield* release
        yield* Fiber.await(crowd)
        expect(reads.filter(([, answer]) => !Exit.isSuccess(answer))).toEqual([])
        expect(Math.max(...reads.map(([waited]) => Duration.toSeconds(waited)))).toBeLessThan(3)
      })
    )
  }
)

import { SqlClient } from "@effect/sql"
import type { AddressCreate } from "@svc/api/addresses/Address"
import type { NumberTypeVerdict } from "@svc/api/addresses/AddressFields"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Effect, Layer, TestClock } from "effect"
import { VerificationWorker } from "../../src/addresses/VerificationWorker.ts"
import type { CarrierDoubles } from "../CarrierDoubles.ts"
import { services } from "../Fixture.ts"

/** The services of one node with the worker that verifies addresses, until the scope ends. */
export const node = (telephony: CarrierDoubles) =>
  Layer.build(
    Layer.fresh(
      VerificationWorker.pipe(
        Layer.provideMerge(services(telephony)),
        Layer.provideMerge(DueCheck.layer),
        Layer.provideMerge(NodeLease.layer)
      )
    )
  )

export const body = (customer_name: string): AddressCreate => ({
  customer_name,
  street: "Damrak 1",
  city: "Amsterdam",
  postcode: "1012 LG",
  region: null,
  country: "NL"
})

export const verdict = (
  type: NumberTypeVerdict["type"],
  status: NumberTypeVerdict["status"],
  rejection_reason: string | null = null
): NumberTypeVerdict => ({ type, status, rejection_reason })

/** Lets the workers look once more, with every address due that none of them has claimed, and waits for statements. */
const turn = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update addresses set next_at = now() where next_at is not null and leased_by is null`
  yield* TestClock.adjust("2 seconds")
  for (let round = 0; round < 5; round++) {
    yield* Effect.ignore(sql`select pg_sleep(0.002)`)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
}).pipe(Effect.orDie)

/** Lets the workers look again until the value is good. */
export const until = <A, E, R>(
  look: Effect.Effect<A, E, R>,
  isGood: (seen: A) => boolean
): Effect.Effect<A, E, R | SqlClient.SqlClient> =>
  Effect.repeat(Effect.zipRight(turn, look), { until: (seen) => isGood(seen) })

/** Some more looks, in which nothing should happen. */
export const settle = Effect.repeatN(turn, 9)

/** The events of an address, in their order. */
export const eventsOf = (id: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly event: string; readonly data: unknown; readonly project_id: number | null }>`
      select event, data, project_id, agent_id from events where (data ->> 'address_id')::bigint = ${id} order by seq`
  ).pipe(Effect.orDie)

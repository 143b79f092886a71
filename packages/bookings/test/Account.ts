import { SqlClient } from "@effect/sql"
import type { BookingCustomerCreate } from "@svc/api/bookings/BookingCustomerInput"
import { newOrgId } from "@svc/api/Ids"
import type { Tier } from "@svc/api/Principal"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import { Outbox, type StoredEvent } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Layer } from "effect"
import * as BookingsSlice from "../src/BookingsSlice.ts"

/** Low limits, so that tests reach them. */
export const limits = { keyPerMinute: 120, orgPerMinute: 600, idempotencyKeysPerDay: 20, paygCustomers: 5 }

/** The slice on a new database. */
export const Test = BookingsSlice.services.pipe(
  Layer.provideMerge(Layer.merge(Outbox.layerWithoutDeliveries, Layer.succeed(WorkspaceLimits, limits))),
  Layer.provideMerge(TestDatabase.layer)
)

/** A new organization. */
export const organization = (tier: Tier = "starter") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const public_id = yield* newOrgId
    const [row] = yield* sql<{ readonly id: number }>`
      insert into organizations (public_id, name, tier) values (${public_id}, 'Acme', ${tier}) returning id`
    return { id: row?.id ?? 0, public_id, tier }
  })

/** A new API key of an organization; returns its numeric id. */
export const apiKey = (orgId: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly id: number }>`
      insert into api_keys (kind, org_id, name, scopes, key_hash, key_hint)
      values ('workspace', ${orgId}, 'Key', '{}', ${crypto.getRandomValues(new Uint8Array(32))}, '...') returning id`
    return row?.id ?? 0
  })

/** The body of a valid create request, changed by `more`. */
export const anna = (more: Partial<BookingCustomerCreate> = {}): BookingCustomerCreate => ({
  name: "Anna de Vries",
  email: "anna@example.com",
  ...more
})

/** The events of an organization, oldest first. */
export const eventsOf = (orgId: number) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const all: ReadonlyArray<StoredEvent> = yield* outbox.after(0, 10_000)
    return all.filter(({ org_id }) => org_id === orgId)
  })

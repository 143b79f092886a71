import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Erases the personal data of deleted addresses, and the copies that ended orders have of addresses. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    update addresses set customer_name = '', street = '', city = '', postcode = '', region = null, number_types = '[]'
    where deleted_at is not null`
  yield* sql`update number_orders set address = null where status <> 'pending'`
  yield* sql`alter table number_orders add check (address is null or status = 'pending')`
})

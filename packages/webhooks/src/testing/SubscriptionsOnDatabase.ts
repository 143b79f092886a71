import type { SqlClient } from "@effect/sql"
import { Layer } from "effect"
import { Subscriptions } from "../Subscriptions.ts"
import { SubscriptionsRepo } from "../SubscriptionsRepo.ts"

/** Subscriptions in a database that is given, for tests of this package and of those that use it. */
export const SubscriptionsOnDatabase: Layer.Layer<Subscriptions, never, SqlClient.SqlClient> = Subscriptions.layer.pipe(
  Layer.provide(SubscriptionsRepo.layer)
)

import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { Database } from "@svc/database/Database"
import { Layer } from "effect"

/** What the commands on organizations, keys and credits need: accounts and their credits, on the server's own database. */
export const CommandServices = BillingSlice.services.pipe(
  Layer.provideMerge(AuthSlice.services),
  Layer.provide(BillingSlice.balance),
  Layer.provideMerge(Database.layer)
)

import * as BillingSlice from "@svc/billing/BillingSlice"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Layer } from "effect"
import * as NumbersSlice from "../../src/NumbersSlice.ts"
import type { CarrierDoubles } from "../CarrierDoubles.ts"
import { services } from "../Fixture.ts"

/** The services of one node with these carriers, on the database of the test. */
export const node = (carriers: CarrierDoubles) =>
  NumbersSlice.carrierServices.pipe(
    Layer.provideMerge(BillingSlice.services),
    Layer.provideMerge(DueCheck.layer),
    Layer.provideMerge(NodeLease.layer),
    Layer.provideMerge(services(carriers))
  )

/** The same on a database of its own. */
export const onDatabase = (carriers: CarrierDoubles) => node(carriers).pipe(Layer.provideMerge(TestDatabase.layer))

let last = 0
/** A US number that no other test uses. */
export const freshNumber = Effect.sync(() => `+1212${String(5_550_000 + last++)}`)

import * as Handlers from "@svc/api/Handlers"
import { CurrentWorkspace } from "@svc/api/Workspace"
import { WorkspaceApi } from "@svc/api/WorkspaceApi"
import { Effect, type Layer } from "effect"
import { CustomerList } from "./CustomerList.ts"
import { Customers } from "./Customers.ts"

/** Handlers of `/api/workspace/v1/bookings/customers`. */
export const CustomersHttp: Layer.Layer<never, never, Customers | CustomerList | Handlers.HandlerRegistry> =
  Handlers.workspaceGroup(
    WorkspaceApi,
    "bookingCustomers",
    Effect.gen(function* () {
      const customers = yield* Customers
      const list = yield* CustomerList
      const currentOrg = Effect.map(CurrentWorkspace, (workspace) => workspace.org)
      const asData = <A, E, R>(result: Effect.Effect<A, E, R>) => Effect.map(result, (data) => ({ data }))

      return {
        list: ({ urlParams }) =>
          Effect.map(
            Effect.flatMap(currentOrg, (org) => list.page(org, urlParams)),
            ({ customers: data, next_cursor }) => ({ data, meta: { next_cursor } })
          ),
        create: ({ payload }) => asData(Effect.flatMap(currentOrg, (org) => customers.create(org, payload))),
        get: ({ path, urlParams }) =>
          asData(Effect.flatMap(currentOrg, (org) => customers.get(org, path.customerId, urlParams.deleted))),
        update: ({ path, payload }) =>
          asData(Effect.flatMap(currentOrg, (org) => customers.update(org, path.customerId, payload))),
        remove: ({ path }) => asData(Effect.flatMap(currentOrg, (org) => customers.remove(org, path.customerId))),
        restore: ({ path }) => asData(Effect.flatMap(currentOrg, (org) => customers.restore(org, path.customerId))),
        anonymize: ({ path }) => asData(Effect.flatMap(currentOrg, (org) => customers.anonymize(org, path.customerId))),
        bulkDelete: ({ payload }) => asData(Effect.flatMap(currentOrg, (org) => customers.removeMany(org, payload.ids)))
      }
    })
  )

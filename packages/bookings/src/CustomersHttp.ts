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
      const org = Effect.map(CurrentWorkspace, (workspace) => workspace.org)
      const asData = <A, E, R>(found: Effect.Effect<A, E, R>) => Effect.map(found, (data) => ({ data }))

      return {
        list: ({ urlParams }) =>
          Effect.map(
            Effect.flatMap(org, (of) => list.page(of, urlParams)),
            ({ customers: data, next_cursor }) => ({ data, meta: { next_cursor } })
          ),
        create: ({ payload }) => asData(Effect.flatMap(org, (of) => customers.create(of, payload))),
        get: ({ path, urlParams }) =>
          asData(Effect.flatMap(org, (of) => customers.get(of, path.customerId, urlParams.deleted))),
        update: ({ path, payload }) =>
          asData(Effect.flatMap(org, (of) => customers.update(of, path.customerId, payload))),
        remove: ({ path }) => asData(Effect.flatMap(org, (of) => customers.remove(of, path.customerId))),
        restore: ({ path }) => asData(Effect.flatMap(org, (of) => customers.restore(of, path.customerId))),
        anonymize: ({ path }) => asData(Effect.flatMap(org, (of) => customers.anonymize(of, path.customerId))),
        bulkDelete: ({ payload }) => asData(Effect.flatMap(org, (of) => customers.removeMany(of, payload.ids)))
      }
    })
  )

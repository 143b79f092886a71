import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { NumberOrders } from "./carrier/NumberOrders.ts"
import { NumberSearch } from "./carrier/NumberSearch.ts"
import { PhoneNumbers } from "./PhoneNumbers.ts"

/** Handlers of `/v1/phone-numbers`. */
export const PhoneNumbersHttp: Layer.Layer<
  never,
  never,
  NumberOrders | NumberSearch | PhoneNumbers | Handlers.HandlerRegistry
> = Handlers.group(
  VoiceApi,
  "phoneNumbers",
  Effect.gen(function* () {
    const numbers = yield* PhoneNumbers
    const orders = yield* NumberOrders
    const offers = yield* NumberSearch
    return {
      search: ({ urlParams }) =>
        Effect.flatMap(CurrentPrincipal, ({ org }) =>
          Effect.map(offers.search(org.tier, urlParams), (phone_numbers) => ({ phone_numbers }))
        ),
      purchase: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return { phone_number: yield* orders.purchase({ ...principal, project }, payload) }
        }),
      release: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(orders.release(project, path.numberId), { deleted: true } as const)
        ),
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => numbers.list(project, urlParams)),
      import: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return { phone_number: yield* numbers.import({ ...principal, project }, payload) }
        }),
      assign: ({ path, payload }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(numbers.assign(project, path.numberId, payload.agent_id), (phone_number) => ({ phone_number }))
        )
    }
  })
)

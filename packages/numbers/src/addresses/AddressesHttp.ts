import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Addresses } from "./Addresses.ts"

/** Handlers of `/v1/addresses`. */
export const AddressesHttp: Layer.Layer<never, never, Addresses | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "addresses",
  Effect.gen(function* () {
    const addresses = yield* Addresses
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => addresses.list(project, urlParams)),
      create: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return { address: yield* addresses.create({ ...principal, project }, payload) }
        }),
      get: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(addresses.get(project, path.addressId), (address) => ({ address }))
        ),
      remove: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(addresses.remove(project, path.addressId), { deleted: true } as const)
        )
    }
  })
)

import type { HttpApi } from "@effect/platform"
import { HandlerRegistry, type VoiceServices } from "@svc/api/Handlers"
import { AccessRule, CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { Context, Effect, Option } from "effect"
import { applyHeaders } from "../exchange/Responses.ts"
import * as Dispatcher from "../routing/Dispatcher.ts"
import { type RequestPipeline, readBody } from "../routing/RequestPipeline.ts"
import { Security } from "./Security.ts"

/**
 * The pipeline of the voice API: the checks of {@link Security}, then the handler with the key's principal and project.
 * Handlers of endpoints that need no project must not use `CurrentProject`: it may be missing, which is a defect.
 */
const make = (api: HttpApi.HttpApi.Any, security: Context.Tag.Service<Security>): RequestPipeline<VoiceServices> => ({
  api,
  prefix: "",
  serve: (endpoint) => {
    const access = Option.getOrElse(Context.getOption(endpoint.annotations, AccessRule), () => AccessRule.standard)
    return (incoming, handle) => {
      const { address, request } = incoming.exchange
      const credentials = { method: endpoint.method, headers: request.headers, address }
      const authorized = Effect.flatMap(security.authorize(credentials, access), ({ headers, outcome }) => {
        applyHeaders(incoming.exchange, headers)
        return outcome
      })
      return Effect.flatMap(authorized, (principal) =>
        Effect.flatMap(readBody(endpoint, incoming), (payload) =>
          Effect.map(
            handle(payload, (known) => {
              const services = Context.add(known, CurrentPrincipal, principal)
              // The type cannot express that the project may be missing; see above.
              return (
                principal.project === null ? services : Context.add(services, CurrentProject, principal.project)
              ) as Context.Context<VoiceServices>
            }),
            (body) => ({ status: endpoint.status, body })
          )
        )
      )
    }
  }
})

/** The routes of the voice API, or of another contract with the same checks, with their registered handlers. */
export const routes =
  (api: HttpApi.HttpApi.Any): Dispatcher.ServedRoutes<Security | HandlerRegistry> =>
  (options) =>
    Effect.gen(function* () {
      const security = yield* Security
      const registry = yield* HandlerRegistry
      return yield* Dispatcher.routes(make(api, security), yield* registry.all, options)
    })

import type { HttpApi } from "@effect/platform"
import { EventStream, EventStreamOf } from "@svc/api/EventStream"
import { HandlerRegistry, type VoiceServices } from "@svc/api/Handlers"
import { AccessRule, CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { bodyFault } from "@svc/chat/BodyFaults"
import { Context, Effect, Option } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"
import { applyHeaders } from "../exchange/Responses.ts"
import * as Dispatcher from "../routing/Dispatcher.ts"
import { openBody } from "../routing/PlainRoutes.ts"
import { type RequestPipeline, readBody } from "../routing/RequestPipeline.ts"
import { Security } from "./Security.ts"

/** Without it, a proxy such as nginx collects the events before it passes them on. */
const eventStreamHead = {
  status: 200,
  headers: {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no"
  }
}

const eventStreamOf = (exchange: Exchange): Context.Tag.Service<EventStream> => {
  // The drain clears it while the request runs.
  const kept = exchange.response.shouldKeepAlive
  return { open: () => openBody(exchange, eventStreamHead, kept) }
}

/**
 * The pipeline of the voice API: the checks of {@link Security}, then the handler with the key's principal and project.
 * Handlers of endpoints that need no project must not use `CurrentProject`, and those of endpoints without events not
 * `EventStream`: it may be missing, which is a defect.
 */
const make = (api: HttpApi.HttpApi.Any, security: Context.Tag.Service<Security>): RequestPipeline<VoiceServices> => ({
  api,
  prefix: "",
  bodyFaults: { "chat.complete": bodyFault },
  serve: (endpoint) => {
    const access = Option.getOrElse(Context.getOption(endpoint.annotations, AccessRule), () => AccessRule.standard)
    const hasEvents = Option.isSome(Context.getOption(endpoint.annotations, EventStreamOf))
    return (incoming, handle) => {
      const { address, request } = incoming.exchange
      const stream = hasEvents ? eventStreamOf(incoming.exchange) : undefined
      const credentials = { method: endpoint.method, headers: request.headers, address }
      const authorized = Effect.flatMap(security.authorize(credentials, access), ({ headers, outcome }) => {
        applyHeaders(incoming.exchange, headers)
        return outcome
      })
      return Effect.flatMap(authorized, (principal) =>
        Effect.flatMap(readBody(endpoint, incoming), (payload) => {
          const ignored = endpoint.ignoredFields(payload)
          if (ignored.length > 0) applyHeaders(incoming.exchange, { "X-Svc-Ignored-Fields": ignored.join(",") })
          return Effect.map(
            handle(payload, (known) => {
              const base = Context.make(CurrentPrincipal, principal)
              const services = stream === undefined ? base : Context.add(base, EventStream, stream)
              // Each service that is added copies those before it.
              // The type cannot express that these may be missing; see above.
              return Context.merge(
                known,
                principal.project === null ? services : Context.add(services, CurrentProject, principal.project)
              ) as Context.Context<VoiceServices>
            }),
            (body) => ({ status: endpoint.status, body })
          )
        })
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

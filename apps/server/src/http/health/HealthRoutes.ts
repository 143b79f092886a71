import { type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { Unavailable } from "@svc/api/VoiceError"
import { PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { type Context, Effect, type Layer } from "effect"
import { ClientAddress, untrustedProxy } from "../access/ClientAddress.ts"
import { Readiness } from "./Readiness.ts"

const json = (body: object): PlainResponse => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body)
})

/** What does not prevent work and needs attention: uncaught errors of plugins, a proxy that is not trusted. */
const warningsOf = (clients: Context.Tag.Service<ClientAddress>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(PluginFaults, (faults) => [
    ...faults
      .counts()
      .map(
        ({ count, last, plugin }) => `plugin ${plugin}: ${count} uncaught errors since the start; the last: ${last}`
      ),
    ...(clients.hasUntrustedProxy() ? [untrustedProxy] : [])
  ])

/** 200 with warnings, if there are any, or 503 with each failing part and its reason under `details`. */
const ready = (
  readiness: Context.Tag.Service<Readiness>,
  warnings: Effect.Effect<ReadonlyArray<string>>
): Effect.Effect<PlainResponse, Unavailable> =>
  readiness.check.pipe(
    Effect.flatMap((parts) => {
      const failing = parts.flatMap(({ health, part }) => (health.healthy ? [] : [[part, health.reason] as const]))
      if (failing.length === 0) {
        return Effect.map(warnings, (texts) =>
          json({
            status: "ok",
            parts: parts.map(({ part }) => part),
            ...(texts.length === 0 ? {} : { warnings: texts })
          })
        )
      }
      const message = `Not ready: ${failing.map(([part, reason]) => `${part}: ${reason}`).join("; ")}`
      return Effect.fail(new Unavailable({ message, details: Object.fromEntries(failing) }))
    }),
    Effect.catchAllDefect(() => Effect.fail(new Unavailable()))
  )

/**
 * `GET /healthz`: the process is up, for a supervisor that restarts it otherwise. `GET /readyz`: the server can do its
 * work, for a load balancer. They need no key.
 */
export const HealthRoutes: Layer.Layer<never, never, Readiness | ClientAddress | RouteRegistry> = plainRoutes(
  Effect.map(Effect.all([Readiness, ClientAddress]), ([readiness, clients]) => [
    { method: "GET", path: "/healthz", handle: () => Effect.succeed(json({ status: "ok" })) },
    { method: "GET", path: "/readyz", handle: () => ready(readiness, warningsOf(clients)) }
  ])
)

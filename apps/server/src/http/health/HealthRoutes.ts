import { type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { toBody, Unavailable } from "@svc/api/VoiceError"
import { PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { type Context, Effect, type Layer } from "effect"
import { ClientAddress, untrustedProxy } from "../access/ClientAddress.ts"
import { Readiness } from "./Readiness.ts"

const json = (body: object, status = 200): PlainResponse => ({
  status,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body)
})

const counted = (count: number, one: string, many: string): ReadonlyArray<string> =>
  count === 0 ? [] : [count === 1 ? one : `${count} ${many}`]

/** What does not prevent work and needs attention: faults of plugins, a proxy that is not trusted. */
const warningsOf = (
  clients: Context.Tag.Service<ClientAddress>,
  faults: Context.Tag.Service<typeof PluginFaults>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.sync(() => [
    ...faults
      .counts()
      .flatMap(({ errors, plugin, stalls }) =>
        [
          ...counted(errors, "1 uncaught error", "uncaught errors"),
          ...counted(stalls, "1 time it held the thread", "times it held the thread")
        ].map((what) => `plugin ${plugin}: ${what} since the start`)
      ),
    ...(clients.hasUntrustedProxy() ? [untrustedProxy] : [])
  ])

/** 200, or 503 with each failing part and its reason under `details`; both with warnings, if there are any. */
const ready = (
  readiness: Context.Tag.Service<Readiness>,
  warnings: Effect.Effect<ReadonlyArray<string>>
): Effect.Effect<PlainResponse, Unavailable> =>
  Effect.all([readiness.check, warnings]).pipe(
    Effect.map(([parts, texts]) => {
      const warned = texts.length === 0 ? {} : { warnings: texts }
      const failing = parts.flatMap(({ health, part }) => (health.healthy ? [] : [[part, health.reason] as const]))
      if (failing.length === 0) return json({ status: "ok", parts: parts.map(({ part }) => part), ...warned })
      const message = `Not ready: ${failing.map(([part, reason]) => `${part}: ${reason}`).join("; ")}`
      const error = new Unavailable({ message, details: Object.fromEntries(failing) })
      return json({ ...toBody(error), ...warned }, error.status)
    }),
    Effect.catchAllDefect(() => Effect.fail(new Unavailable()))
  )

/**
 * `GET /healthz`: the process is up, for a supervisor that restarts it otherwise. `GET /readyz`: the server can do its
 * work, for a load balancer. They need no key.
 */
export const HealthRoutes: Layer.Layer<never, never, Readiness | ClientAddress | RouteRegistry> = plainRoutes(
  Effect.map(Effect.all([Readiness, ClientAddress, PluginFaults]), ([readiness, clients, faults]) => [
    { method: "GET", path: "/healthz", handle: () => Effect.succeed(json({ status: "ok" })) },
    { method: "GET", path: "/readyz", handle: () => ready(readiness, warningsOf(clients, faults)) }
  ])
)

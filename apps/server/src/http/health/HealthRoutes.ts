import { type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { Unavailable } from "@svc/api/VoiceError"
import { type Context, Effect, type Layer } from "effect"
import { Readiness } from "./Readiness.ts"

const json = (body: object): PlainResponse => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body)
})

/** 200, or 503 with each failing part and its reason under `details`. */
const ready = (readiness: Context.Tag.Service<Readiness>): Effect.Effect<PlainResponse, Unavailable> =>
  readiness.check.pipe(
    Effect.flatMap((parts) => {
      const failing = parts.flatMap(({ health, part }) => (health.healthy ? [] : [[part, health.reason] as const]))
      if (failing.length === 0) return Effect.succeed(json({ status: "ok", parts: parts.map(({ part }) => part) }))
      const message = `Not ready: ${failing.map(([part, reason]) => `${part}: ${reason}`).join("; ")}`
      return Effect.fail(new Unavailable({ message, details: Object.fromEntries(failing) }))
    }),
    Effect.catchAllDefect(() => Effect.fail(new Unavailable()))
  )

/**
 * `GET /healthz`: the process is up, for a supervisor that restarts it otherwise. `GET /readyz`: the server can do its
 * work, for a load balancer. They need no key.
 */
export const HealthRoutes: Layer.Layer<never, never, Readiness | RouteRegistry> = plainRoutes(
  Effect.map(Readiness, (readiness) => [
    { method: "GET", path: "/healthz", handle: () => Effect.succeed(json({ status: "ok" })) },
    { method: "GET", path: "/readyz", handle: () => ready(readiness) }
  ])
)

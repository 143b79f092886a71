import { Unavailable } from "@svc/api/VoiceError"
import { type Context, Effect } from "effect"
import type { RunRequest, Serve, ServedRoute } from "./Dispatcher.ts"
import type { Readiness } from "./Readiness.ts"
import { sendError, sendJson } from "./Responses.ts"

/** The process is up: for a supervisor that restarts it otherwise. */
const healthz: Serve = (exchange) => sendJson(exchange, 200, JSON.stringify({ status: "ok" }))

/** The server can do its work: for a load balancer. Otherwise 503, with each failing part and why under `details`. */
const readyz =
  (readiness: Context.Tag.Service<Readiness>, run: RunRequest): Serve =>
  (exchange) => {
    const check = Effect.flatMap(readiness.check, (parts) => {
      const failing = parts.flatMap(({ part, health }) => (health.healthy ? [] : [[part, health.reason] as const]))
      if (failing.length === 0) return Effect.succeed(parts.map(({ part }) => part))
      const message = `Not ready: ${failing.map(([part, reason]) => `${part}: ${reason}`).join("; ")}`
      return Effect.fail(new Unavailable({ message, details: Object.fromEntries(failing) }))
    })
    run(check).addObserver((exit) => {
      if (exit._tag === "Success") sendJson(exchange, 200, JSON.stringify({ status: "ok", parts: exit.value }))
      else if (exit.cause._tag === "Fail") sendError(exchange, exit.cause.error)
      else sendError(exchange, new Unavailable())
    })
  }

/** Routes beside the APIs, which need no key (decisions §2.10). */
export const plainRoutes = (readiness: Context.Tag.Service<Readiness>, run: RunRequest): ReadonlyArray<ServedRoute> => [
  { method: "GET", path: "/healthz", serve: healthz },
  { method: "GET", path: "/readyz", serve: readyz(readiness, run) }
]

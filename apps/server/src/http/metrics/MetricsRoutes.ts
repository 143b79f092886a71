import { createHash, timingSafeEqual } from "node:crypto"
import { isIPv4 } from "node:net"
import { type PlainRequest, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { RouteNotFound } from "@svc/api/VoiceError"
import { Config, type ConfigError, Context, Effect, type Layer, Option, Redacted } from "effect"
import { contentType, type Family, textOf } from "./PrometheusText.ts"

/** The metrics of this process. */
export class Metrics extends Context.Tag("@svc/server/Metrics")<
  Metrics,
  { readonly read: Effect.Effect<ReadonlyArray<Family>> }
>() {}

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a request comes from this machine, and not through a proxy on it. */
const isLocal = ({ address, headers }: PlainRequest): boolean =>
  (address === "::1" || (isIPv4(address) && address.startsWith("127."))) &&
  ["x-forwarded-for", "forwarded", "x-real-ip"].every((name) => headers[name] === undefined)

const isBearer = ({ headers }: PlainRequest, token: Redacted.Redacted): boolean => {
  const given = /^Bearer +(.+)$/i.exec(headers["authorization"] ?? "")?.[1]
  return given !== undefined && timingSafeEqual(hash(given.trim()), hash(Redacted.value(token)))
}

/**
 * `GET /metrics`: the metrics of this process for Prometheus. It needs no key from the machine itself; from elsewhere
 * only with `SVC_METRICS_TOKEN` as a bearer token, else the answer is that of a path that does not exist.
 */
export const MetricsRoutes: Layer.Layer<never, ConfigError.ConfigError, Metrics | RouteRegistry> = plainRoutes(
  Effect.gen(function* () {
    const metrics = yield* Metrics
    const token = yield* Config.option(Config.redacted("SVC_METRICS_TOKEN"))
    const isAllowed = (request: PlainRequest): boolean =>
      isLocal(request) || (Option.isSome(token) && isBearer(request, token.value))
    return [
      {
        method: "GET",
        path: "/metrics",
        handle: (request) =>
          isAllowed(request)
            ? Effect.map(metrics.read, (families) => ({
                status: 200,
                headers: { "Content-Type": contentType, "Cache-Control": "no-store" },
                body: textOf(families)
              }))
            : Effect.fail(new RouteNotFound())
      }
    ]
  })
)

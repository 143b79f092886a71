import type { LookupAddress } from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import { ValidationError } from "@svc/api/VoiceError"
import { Config, type ConfigError, Context, Effect, Layer, Option } from "effect"
import type { buildConnector } from "undici"
import { connectorOf, lookupOf } from "./UrlSafety/Connector.ts"
import type { LookupFunction as Resolve } from "./UrlSafety/LookupQueue.ts"
import { addressesAllowed, hostAllowed, hostOf, type Policy } from "./UrlSafety/Policy.ts"
import { portAllowed } from "./UrlSafety/Port.ts"
import { addressFault, parse, type UrlFault, UrlRefused } from "./UrlSafety/Refusal.ts"
import { Resolver } from "./UrlSafety/Resolver.ts"

/** Most characters of a stored URL. */
const maxLength = 2048

/**
 * Keeps requests to customers' URLs out of our own network (SSRF). Every URL is checked when it is stored, and again by
 * the connection, so that a name whose answer changes in between (DNS rebinding) is refused too. Redirects must not be
 * followed. `SVC_ALLOW_PRIVATE_URLS=true` (default false) also allows `http:` and private addresses; never cloud metadata,
 * credentials in the URL, or the ports of other services.
 */
export class UrlSafety extends Context.Tag("@svc/urls/UrlSafety")<
  UrlSafety,
  {
    /**
     * Returns the URL if it is a public HTTPS URL with only public addresses. Else the validation error of `field`:
     * `<field> must be a valid public HTTPS URL` or `<field> blocked by SSRF filter`.
     */
    readonly check: (url: string, field: string) => Effect.Effect<URL, ValidationError>
    /** The same check, for callers that say in their own words what is wrong. */
    readonly inspect: (url: string) => Effect.Effect<URL, UrlRefused>
    /**
     * A connector for undici: `new Agent({ connect: safety.connector({ timeout: 5000 }) })`. It connects to an address
     * that it has checked, and checks scheme, port and literal addresses too. The timeout includes name resolution.
     * Refusals are {@link BlockedAddress} errors.
     */
    readonly connector: (options?: buildConnector.BuildOptions) => buildConnector.connector
    /** For a worker thread, whose connections are made by `connectorOf`: what they may do, and how names are resolved. */
    readonly policy: Policy
    readonly resolve: Resolve
    /** The same check with the signature of `dns.lookup`, for other clients. Literal addresses bypass it: see `connector`. */
    readonly lookup: LookupFunction
  }
>() {
  static readonly layer: Layer.Layer<UrlSafety, ConfigError.ConfigError, Resolver> = Layer.effect(
    UrlSafety,
    Effect.gen(function* () {
      const resolver = yield* Resolver
      const allowPrivate = yield* Config.boolean("SVC_ALLOW_PRIVATE_URLS").pipe(Config.withDefault(false))
      const policy: Policy = allowPrivate ? "private" : "strict"

      /** All addresses of a name; none if it does not resolve within 5 s. */
      const addressesOf = (host: string) =>
        Effect.async<ReadonlyArray<LookupAddress>>((resume) => {
          resolver.resolve(host, (error, addresses) => resume(Effect.succeed(error === null ? addresses : [])))
        }).pipe(Effect.timeoutOption("5 seconds"), Effect.map(Option.getOrElse((): ReadonlyArray<LookupAddress> => [])))

      const inspect = Effect.fn("UrlSafety.inspect")(function* (url: string) {
        const refused = (fault: UrlFault) => new UrlRefused({ fault })
        if (url.length > maxLength) return yield* refused("length")
        const parsed = parse(url, policy)
        if (typeof parsed === "string") return yield* refused(parsed)
        const host = hostOf(parsed.hostname)
        if (!hostAllowed(policy, host)) return yield* refused(addressFault((other) => hostAllowed(other, host)))
        if (isIP(host) === 0) {
          const addresses = yield* addressesOf(host)
          if (addresses.length === 0) return yield* refused("name")
          if (!addressesAllowed(policy, addresses)) {
            return yield* refused(addressFault((other) => addressesAllowed(other, addresses)))
          }
        }
        // Last, so that a URL of one of our own services is reported as blocked by the filter.
        return portAllowed(policy, parsed.port) ? parsed : yield* refused("port")
      })

      const check = Effect.fn("UrlSafety.check")((url: string, field: string) =>
        Effect.mapError(inspect(url), ({ fault }) => {
          if (fault === "length") {
            return ValidationError.field(field, `${field} must not exceed ${maxLength} characters`)
          }
          const isBlocked = fault === "private address" || fault === "reserved address"
          const problem = isBlocked ? "blocked by SSRF filter" : "must be a valid public HTTPS URL"
          return ValidationError.field(field, `${field} ${problem}`)
        })
      )

      const { resolve } = resolver
      return {
        check,
        inspect,
        policy,
        resolve,
        connector: (options) => connectorOf(policy, resolve, options),
        lookup: lookupOf(policy, resolve)
      }
    })
  )
}

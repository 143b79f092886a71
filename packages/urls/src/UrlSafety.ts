import type { LookupAddress } from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import { ValidationError } from "@svc/api/VoiceError"
import { Config, type ConfigError, Context, Effect, Layer, Option } from "effect"
import type { buildConnector } from "undici"
import { connectorOf, lookupOf } from "./UrlSafety/Connector.ts"
import type { LookupFunction as Resolve } from "./UrlSafety/LookupQueue.ts"
import { addressesAllowed, hostAllowed, hostOf, type Policy, schemeAllowed } from "./UrlSafety/Policy.ts"
import { portAllowed } from "./UrlSafety/Port.ts"
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

      const check = Effect.fn("UrlSafety.check")(function* (url: string, field: string) {
        const notPublic = ValidationError.field(field, `${field} must be a valid public HTTPS URL`)
        const blocked = ValidationError.field(field, `${field} blocked by SSRF filter`)
        if (url.length > maxLength) {
          return yield* ValidationError.field(field, `${field} must not exceed ${maxLength} characters`)
        }
        const parsed = parse(url, policy)
        if (parsed === undefined) return yield* notPublic
        const host = hostOf(parsed.hostname)
        if (!hostAllowed(policy, host)) return yield* blocked
        if (isIP(host) === 0) {
          const addresses = yield* addressesOf(host)
          if (addresses.length === 0) return yield* notPublic
          if (!addressesAllowed(policy, addresses)) return yield* blocked
        }
        // Last, so that a URL of one of our own services is reported as blocked by the filter.
        return portAllowed(policy, parsed.port) ? parsed : yield* notPublic
      })

      const { resolve } = resolver
      return {
        check,
        policy,
        resolve,
        connector: (options) => connectorOf(policy, resolve, options),
        lookup: lookupOf(policy, resolve)
      }
    })
  )
}

/** Parses a URL with an allowed scheme and no credentials. This also normalizes unusual notations of the host. */
const parse = (text: string, policy: Policy): URL | undefined => {
  // The parser accepts white space, control characters, backslashes and empty credentials, which other clients read
  // differently.
  if (!/^https?:\/\/[^/\\?#]/i.test(text) || /[\s\\\u0000-\u001f\u007f-\u009f]/.test(text)) return undefined
  if (/^[^/]*\/\/[^/?#]*@/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (!schemeAllowed(policy, url.protocol) || url.username !== "" || url.password !== "") return undefined
  if (url.port === "0") return undefined
  // A name with an empty label is invalid, but some resolvers accept it.
  return hostOf(url.hostname) === "" || url.hostname.includes("..") ? undefined : url
}

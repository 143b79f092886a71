import type { LookupFunction } from "node:net"
import type { ValidationError } from "@svc/api/VoiceError"
import { Context, type Effect } from "effect"
import type { buildConnector } from "undici"

/**
 * Keeps requests to URLs that customers give us out of our own network (spec 2.4, decisions §3.7, §3.8). Every URL is
 * checked when it is stored, and again by the connection itself, so that a name which changes its answer in between
 * (DNS rebinding) gains nothing. Redirects must not be followed.
 */
export class UrlSafety extends Context.Tag("@svc/agents/UrlSafety")<
  UrlSafety,
  {
    /**
     * The URL, when it is a public HTTPS one whose every address is public. Else the validation error of `field`:
     * `<field> must be a valid public HTTPS URL` or `<field> blocked by SSRF filter`.
     */
    readonly check: (url: string, field: string) => Effect.Effect<URL, ValidationError>
    /**
     * How undici is to connect: `new Agent({ connect: safety.connector({ timeout: 5000 }) })`. The address that is
     * connected to is one that was checked; a literal address in the URL is checked too. Refusals are
     * {@link BlockedAddress} errors.
     */
    readonly connector: (options?: buildConnector.BuildOptions) => buildConnector.connector
    /** The same check in the shape of `dns.lookup`, for other clients. It never sees literal addresses: see `connector`. */
    readonly lookup: LookupFunction
  }
>() {}

/** A connection that was refused because of where it leads. */
export class BlockedAddress extends Error {
  readonly code = "SVC_BLOCKED_ADDRESS"
}

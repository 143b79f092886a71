import type { IncomingMessage } from "node:http"
import { BlockList, isIPv4 } from "node:net"
import { Config, ConfigError, Context, Effect, Either, Layer, Runtime } from "effect"
import { normalize, withoutPort } from "./IpAddress.ts"

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv4(address) ? "ipv4" : "ipv6")

/** Adds a CIDR, or a single address, to the list; false when it is neither. */
const add = (list: BlockList, cidr: string): boolean => {
  const [text = "", prefix, ...more] = cidr.split("/")
  const address = normalize(text)
  if (address === undefined || more.length > 0 || text.includes("%")) return false
  const family = familyOf(address)
  const maxBits = family === "ipv4" ? 32 : 128
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return false
  // The first 96 bits of an IPv4-mapped address are its fixed prefix.
  const mapped = family === "ipv4" && text.includes(":") && prefix !== undefined ? 96 : 0
  const bits = prefix === undefined ? maxBits : Number(prefix) - mapped
  if (bits < 0 || bits > maxBits) return false
  list.addSubnet(address, bits, family)
  return true
}

const trustedProxies: Config.Config<BlockList> = Config.string("SVC_TRUSTED_PROXIES").pipe(
  Config.withDefault(""),
  Config.mapOrFail((text) => {
    const list = new BlockList()
    const invalid = text.split(/[\s,]+/).find((cidr) => cidr !== "" && !add(list, cidr))
    return invalid === undefined
      ? Either.right(list)
      : Either.left(
          ConfigError.InvalidData(
            ["SVC_TRUSTED_PROXIES"],
            `must be networks like 10.0.0.0/8, fd00::/8 with commas between; ${invalid} is none`
          )
        )
  })
)

/** What happens behind a proxy that is not trusted, and what to set; for `/readyz` and `svc doctor`. */
export const untrustedProxy =
  "requests come with X-Forwarded-For or Forwarded from an address that SVC_TRUSTED_PROXIES does not contain: if it is your proxy, all clients share its address for the limits of requests and of wrong keys, and logs show that address; set SVC_TRUSTED_PROXIES to the proxy's address"

/**
 * The client of a request: the socket's peer or, when that is in `SVC_TRUSTED_PROXIES` (CIDRs with commas between; none
 * by default), the last hop of `X-Forwarded-For` that is not. Earlier hops are ignored, because the client may have
 * written them.
 */
export class ClientAddress extends Context.Tag("@svc/server/ClientAddress")<
  ClientAddress,
  {
    /** An IP address, IPv4 never in its mapped form. Empty when the client has disconnected. */
    readonly of: (request: IncomingMessage) => string
    /** Whether a request has come with `X-Forwarded-For` or `Forwarded` from an address that is not trusted. */
    readonly hasUntrustedProxy: () => boolean
  }
>() {
  static readonly layer: Layer.Layer<ClientAddress, ConfigError.ConfigError> = Layer.effect(
    ClientAddress,
    Effect.map(Effect.all([trustedProxies, Effect.runtime<never>()]), ([proxies, runtime]) => {
      let untrusted = false
      /** Logged once: anybody can send such a header, and a proxy sends it with each request. */
      const noticeUntrusted = (peer: string) => {
        untrusted = true
        Runtime.runFork(runtime)(
          Effect.logWarning(
            `A request with X-Forwarded-For or Forwarded came from ${peer}, which SVC_TRUSTED_PROXIES does not contain, so these headers are ignored. If ${peer} is your proxy, all clients behind it share its address for the limits of requests and of wrong keys, and logs show that address: set SVC_TRUSTED_PROXIES=${peer}. If it is not, nothing needs to be done.`
          )
        )
      }
      const isTrusted = (address: string) => proxies.check(address, familyOf(address))
      return {
        hasUntrustedProxy: () => untrusted,
        of: (request) => {
          const peer = normalize(request.socket.remoteAddress ?? "") ?? ""
          const forwarded = request.headers["x-forwarded-for"]
          // With lines of its own for each hop, Node joins them with commas.
          if (peer === "" || (forwarded === undefined && request.headers.forwarded === undefined)) return peer
          if (!isTrusted(peer)) {
            if (!untrusted) noticeUntrusted(peer)
            return peer
          }
          if (typeof forwarded !== "string") return peer
          let client = peer
          for (const hop of forwarded.split(",").toReversed()) {
            const address = normalize(withoutPort(hop))
            // A trusted proxy wrote no valid address, so that proxy is the last known hop.
            if (address === undefined) return client
            client = address
            if (!isTrusted(address)) return client
          }
          return client
        }
      }
    })
  )
}

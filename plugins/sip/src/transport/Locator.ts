import { isIP } from "node:net"
import { Data, Effect } from "effect"
import { paramOf } from "../message/Syntax.ts"
import type { Uri } from "../message/Uri.ts"
import type { Peer } from "../transaction/Peer.ts"

/** The server for a URI could not be found. */
export class NotLocated extends Data.TaggedError("NotLocated")<{ readonly reason: string }> {}

/** A record of DNS that names a server (RFC 2782). */
export interface Service {
  readonly host: string
  readonly port: number
  /** Lower ones are asked first. */
  readonly priority: number
  readonly weight: number
}

/** DNS. Both give nothing when there is no record, and when DNS fails. */
export interface Names {
  readonly services: (name: string) => Effect.Effect<ReadonlyArray<Service>>
  readonly addresses: (name: string) => Effect.Effect<ReadonlyArray<string>>
}

const transportOf = (uri: Uri): "udp" | "tcp" | undefined => {
  const named = uri._tag === "Sip" ? paramOf(uri.params, "transport")?.toLowerCase() : undefined
  return named === "udp" || named === "tcp" ? named : undefined
}

/** The server at once, when the URI has an IP address; undefined: DNS is to be asked. */
export const literal = (uri: Uri): Peer | undefined => {
  if (uri._tag !== "Sip") return undefined
  const host = paramOf(uri.params, "maddr") ?? uri.host
  const address = host.replace(/^\[|\]$/g, "")
  return isIP(address) === 0 ? undefined : { transport: transportOf(uri) ?? "udp", address, port: uri.port ?? 5060 }
}

/** In the order of priority, and of weight among equals. `random` is from 0 to 1. */
const ordered = (services: ReadonlyArray<Service>, random: () => number): ReadonlyArray<Service> =>
  services
    .map((service) => ({ service, key: random() ** (1 / Math.max(service.weight, 0.01)) }))
    .toSorted((a, b) => a.service.priority - b.service.priority || b.key - a.key)
    .map(({ service }) => service)

/**
 * The servers for a URI, in the order to be tried (RFC 3263, 4): an address; with a port its addresses; else the SRV records
 * of the transports that we have, else its addresses at port 5060.
 */
export const locate = (
  uri: Uri,
  names: Names,
  transports: ReadonlyArray<"udp" | "tcp">,
  random: () => number
): Effect.Effect<ReadonlyArray<Peer>, NotLocated> =>
  Effect.gen(function* () {
    const at = literal(uri)
    if (at !== undefined) return [at]
    if (uri._tag !== "Sip") return yield* new NotLocated({ reason: "the address is no SIP URI" })
    if (uri.scheme === "sips") return yield* new NotLocated({ reason: "sips needs TLS, which is not supported" })
    const wanted = transportOf(uri)
    const tried = wanted === undefined ? transports : transports.filter((each) => each === wanted)
    if (tried.length === 0) return yield* new NotLocated({ reason: `${uri.host} needs a transport that is off` })
    if (uri.port === undefined) {
      for (const transport of tried) {
        const services = yield* names.services(`_sip._${transport}.${uri.host}`)
        const peers = yield* Effect.forEach(ordered(services, random), ({ host, port }) =>
          Effect.map(names.addresses(host), (found) => found.map((address): Peer => ({ transport, address, port })))
        )
        if (peers.flat().length > 0) return peers.flat()
      }
    }
    const addresses = yield* names.addresses(uri.host)
    if (addresses.length === 0) return yield* new NotLocated({ reason: `DNS has no address of ${uri.host}` })
    const transport = tried[0] ?? "udp"
    return addresses.map((address): Peer => ({ transport, address, port: uri.port ?? 5060 }))
  })

import { isIP } from "node:net"
import { Data, Effect } from "effect"
import { paramOf } from "../message/Syntax.ts"
import type { SipUri, Uri } from "../message/Uri.ts"
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

type Transport = Peer["transport"]

/** The transport that a URI asks for; `sips` is TLS, over TCP. */
export const transportOf = (uri: Uri): Transport | undefined => {
  if (uri._tag !== "Sip") return undefined
  const named = paramOf(uri.params, "transport")?.toLowerCase()
  if (uri.scheme === "sips") return named === undefined || named === "tcp" || named === "tls" ? "tls" : undefined
  return named === "udp" || named === "tcp" || named === "tls" ? named : undefined
}

const portOf = (uri: SipUri, transport: Transport): number => uri.port ?? (transport === "tls" ? 5061 : 5060)

/** The name under which SRV records have a transport (RFC 3263, 4.1). */
const serviceOf = (transport: Transport): string => (transport === "tls" ? "_sips._tcp" : `_sip._${transport}`)

/** A `sips` URI with a transport that is not encrypted. */
const isUnencryptedSips = (uri: SipUri): boolean => uri.scheme === "sips" && transportOf(uri) === undefined

/** The transport of a URI that names none: UDP, or the first of ours where UDP is off. */
export const usualTransport = (transports: ReadonlyArray<Transport>): Transport =>
  transports.includes("udp") ? "udp" : (transports[0] ?? "udp")

/**
 * The server at once, when the URI has an IP address; undefined: DNS is to be asked. `transports` are those that we have.
 */
export const literal = (uri: Uri, transports: ReadonlyArray<Transport>): Peer | undefined => {
  if (uri._tag !== "Sip" || isUnencryptedSips(uri)) return undefined
  const host = paramOf(uri.params, "maddr") ?? uri.host
  const address = host.replace(/^\[|\]$/g, "")
  const transport = transportOf(uri) ?? usualTransport(transports)
  return isIP(address) === 0 ? undefined : { transport, address, port: portOf(uri, transport) }
}

/** In the order of priority, and of weight among equals. `random` is from 0 to 1. */
const ordered = (services: ReadonlyArray<Service>, random: () => number): ReadonlyArray<Service> =>
  services
    .map((service) => ({ service, key: random() ** (1 / Math.max(service.weight, 0.01)) }))
    .toSorted((a, b) => a.service.priority - b.service.priority || b.key - a.key)
    .map(({ service }) => service)

/**
 * The servers for a URI, in the order to be tried (RFC 3263, 4): an address; with a port its addresses; else the SRV records
 * of the transports that we have, else its addresses at port 5060, or 5061 with TLS.
 */
export const locate = (
  uri: Uri,
  names: Names,
  transports: ReadonlyArray<Transport>,
  random: () => number
): Effect.Effect<ReadonlyArray<Peer>, NotLocated> =>
  Effect.gen(function* () {
    const at = literal(uri, transports)
    if (at !== undefined) return [at]
    if (uri._tag !== "Sip") return yield* new NotLocated({ reason: "the address is no SIP URI" })
    if (isUnencryptedSips(uri))
      return yield* new NotLocated({ reason: `${uri.host} is a sips address, which needs TLS` })
    const wanted = transportOf(uri)
    const tried = wanted === undefined ? transports : transports.filter((each) => each === wanted)
    if (tried.length === 0) {
      const reason = `${uri.host} needs a transport that is off: ${wanted} is not in SVC_SIP_TRANSPORTS`
      return yield* new NotLocated({ reason })
    }
    /** The certificate must be of the name that was asked for, not of one that DNS gave (RFC 5922, 4). */
    const peerAt = (transport: Transport, address: string, port: number): Peer =>
      transport === "tls" ? { transport, address, port, host: uri.host } : { transport, address, port }
    if (uri.port === undefined) {
      for (const transport of tried) {
        const services = yield* names.services(`${serviceOf(transport)}.${uri.host}`)
        const peers = yield* Effect.forEach(ordered(services, random), ({ host, port }) =>
          Effect.map(names.addresses(host), (found) => found.map((address) => peerAt(transport, address, port)))
        )
        if (peers.flat().length > 0) return peers.flat()
      }
    }
    const addresses = yield* names.addresses(uri.host)
    if (addresses.length === 0) return yield* new NotLocated({ reason: `DNS has no address of ${uri.host}` })
    const transport = tried[0] ?? "udp"
    return addresses.map((address) => peerAt(transport, address, portOf(uri, transport)))
  })

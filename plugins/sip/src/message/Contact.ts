import * as Uri from "./Uri.ts"

/** Our Contact: where requests of the peer go to, with the transport on which we have it. */
export const contact = (given: {
  readonly transport: "udp" | "tcp" | "tls"
  /** As URIs have it: IPv6 in brackets. */
  readonly host: string
  readonly port: number
  readonly user?: string | undefined
  /** The peer is addressed with `sips`, so that its requests must be encrypted too (RFC 3261, 8.1.1.8). */
  readonly isSips?: boolean
}): string => {
  const { host, isSips = false, port, transport, user } = given
  const scheme = isSips ? "sips" : "sip"
  const params = transport === "udp" || isSips ? [] : [{ name: "transport", value: transport }]
  return `<${Uri.text(Uri.make(host, { scheme, user, port, params }))}>`
}

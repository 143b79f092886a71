/** Where messages come from and go to. */
export interface Peer {
  readonly transport: "udp" | "tcp" | "tls"
  /** An IP address without brackets. */
  readonly address: string
  readonly port: number
  /** The connection on which a request came, whose responses go back on it (RFC 3261, 18.2.2). */
  readonly connection?: number
  /** TLS: the name that the certificate of the server must have. Absent: its address. */
  readonly host?: string
}

export const isReliable = ({ transport }: Peer): boolean => transport !== "udp"

const onConnection = (found: Peer, flow: Peer): Peer => {
  if (flow.connection !== undefined) return { ...found, transport: "tcp", connection: flow.connection }
  return flow.address === found.address && flow.port === found.port ? { ...found, transport: "tcp" } : found
}

/**
 * Where a request in a call goes, instead of `found`. Over TLS it goes on the connection on which the peer called: phones
 * accept no connections, and a proxy has one already. In a call that we placed, where the peer's Contact is only an
 * address, its certificate must have the name that we called.
 * `isUnnamed`: the Contact names no transport and there is no route; then a call over TCP stays on its connection.
 */
export const onFlow = (found: Peer, flow: Peer | undefined, isUnnamed = false): Peer => {
  if (flow?.transport === "tcp" && found.transport === "udp" && isUnnamed) return onConnection(found, flow)
  if (flow?.transport !== "tls" || found.transport !== "tls") return found
  if (found.host !== undefined && found.address !== flow.address) return found
  if (flow.connection !== undefined) return { ...found, connection: flow.connection }
  return found.host === undefined && flow.host !== undefined ? { ...found, host: flow.host } : found
}

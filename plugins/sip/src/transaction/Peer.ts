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

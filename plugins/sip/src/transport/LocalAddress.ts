import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { matcher } from "../Cidr.ts"

/** Whether an address is one of all interfaces. */
export const isUnspecified = (address: string): boolean => address === "0.0.0.0" || address === "::"

/**
 * The address of this machine that a peer reaches: of the interface in its network, else of the first that is not the
 * loopback. The peer may be a name, whose network is not known. Undefined: there is none of its family.
 */
export const addressFor = (peer: string): string | undefined => {
  const family = isIP(peer) === 6 ? "IPv6" : "IPv4"
  const own = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter((each) => each.family === family && !each.address.startsWith("fe80:"))
  const near = own.find(({ cidr }) => cidr !== null && matcher([cidr])(peer))
  return (near ?? own.find(({ internal }) => !internal) ?? own[0])?.address
}

/** A host as URIs and Via have it: IPv6 in brackets. */
export const bracketed = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address)

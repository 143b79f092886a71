import { isIP, SocketAddress } from "node:net"

/** Where media goes to or comes from. `address`: an IP address as Node writes it, see {@link mediaAddress}. */
export interface MediaAddress {
  readonly address: string
  readonly port: number
}

/** IPv4 in IPv6 (RFC 4291, 2.5.5.2): how a socket for both has the IPv4 addresses. */
const mapped = "::ffff:"

/** An IP address in the one spelling that is compared; undefined: it is none, such as the name of a host. */
export const plainAddress = (address: string): string | undefined => {
  const family = isIP(address)
  if (family === 4) return address
  // An address with a zone is that of an interface of this machine, and stays.
  if (family === 0 || address.includes("%")) return family === 0 ? undefined : address
  const plain = new SocketAddress({ address, family: "ipv6" }).address
  return plain.startsWith(mapped) && isIP(plain.slice(mapped.length)) === 4 ? plain.slice(mapped.length) : plain
}

export type Family = 4 | 6

/** The family of an IP address; IPv4 in IPv6 is IPv4. */
export const familyOf = (address: string): Family => (isIP(plainAddress(address) ?? address) === 6 ? 6 : 4)

/**
 * The families of the peers of a socket that is bound to `bound`: both for `::`, unless `announced`, the address that all
 * peers are given, is of one.
 */
export const familiesOf = (bound: string, announced: string | undefined): ReadonlyArray<Family> => {
  if (bound !== "::") return [familyOf(bound)]
  return announced === undefined ? [4, 6] : [familyOf(announced)]
}

/** The address to which a socket of the family can send; undefined: it cannot. */
export const addressFor = (family: 4 | 6, address: string): string | undefined => {
  const of = isIP(address)
  if (of === family) return address
  return of === 4 && family === 6 ? mapped + address : undefined
}

/** Whether media cannot be sent there: none is wanted (RFC 3264, 8.4), or the port is none. */
export const isUnspecified = ({ address, port }: MediaAddress): boolean =>
  port < 1 || port > 0xffff || address === "0.0.0.0" || address === "::"

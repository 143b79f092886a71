import type { LookupAddress } from "node:dns"
import { isIP } from "node:net"
import { classOf } from "./Address.ts"

/** Names of cloud metadata services, always refused. */
const metadataNames = new Set([
  "metadata.google.internal",
  "metadata.goog",
  "metadata.tencentyun.com",
  "instance-data.ec2.internal"
])

/**
 * Names that are never public (RFC 6761, 6762, 8375, and ICANN's names for private use): where one resolves, a
 * local resolver answered, even if the address is public.
 */
const privateZones = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "home.arpa"
]

/** `strict` allows the internet over HTTPS; `private` also this machine, its networks, and plain HTTP. */
export type Policy = "strict" | "private"

/** Whether a URL's scheme (`https:`) is allowed. */
export const schemeAllowed = (policy: Policy, protocol: string): boolean =>
  protocol === "https:" || (protocol === "http:" && policy === "private")

const addressAllowed = (policy: Policy, address: string): boolean => {
  const addressClass = classOf(address)
  return addressClass === "public" || (addressClass === "private" && policy === "private")
}

/** The host of a URL for a resolver: no brackets, no final dots, lower case. */
export const hostOf = (hostname: string): string =>
  hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.+$/, "")
    .toLowerCase()

/** Whether the host is allowed before resolution: a literal address by its class, a name unless it is reserved. */
export const hostAllowed = (policy: Policy, host: string): boolean => {
  if (isIP(host) !== 0) return addressAllowed(policy, host)
  if (metadataNames.has(host)) return false
  return policy === "private" || !privateZones.some((zone) => host === zone || host.endsWith(`.${zone}`))
}

/** Whether a host with these addresses is allowed: all of them must be. */
export const addressesAllowed = (policy: Policy, addresses: ReadonlyArray<LookupAddress>): boolean =>
  addresses.every(({ address }) => addressAllowed(policy, address))

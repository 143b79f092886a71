import { isIPv4, isIPv6 } from "node:net"
import { groupsOf } from "@svc/urls/UrlSafety/Address"

/**
 * The normal form of an IP address: IPv4-mapped IPv6 (`::ffff:10.0.0.1`) becomes IPv4, and a zone (`%eth0`) is dropped.
 * Undefined for an invalid address.
 */
export const normalize = (text: string): string | undefined => {
  if (isIPv4(text)) return text
  const address = text.split("%", 1)[0] ?? ""
  if (!isIPv6(address)) return undefined
  const groups = groupsOf(address)
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return address.toLowerCase()
  const [high = 0, low = 0] = groups.slice(6)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/**
 * The network by which clients are counted: an IPv4 address, or the /64 of an IPv6 address, which one client usually
 * owns.
 */
export const networkOf = (address: string): string => {
  if (!address.includes(":")) return address
  const network = groupsOf(address).slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(":")}::/64`
}

/** Removes the port that some proxies add to an address: `192.0.2.1:4711`, `[2001:db8::1]:4711`, `"…"`. */
export const withoutPort = (text: string): string => {
  const bare = text.trim().replace(/^"(.*)"$/, "$1")
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(bare)?.[1] ?? bare
}

import { BlockList, isIP } from "node:net"

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4")

const bitsOf = (cidr: string): { readonly address: string; readonly bits: number } | undefined => {
  const slash = cidr.indexOf("/")
  const address = slash < 0 ? cidr : cidr.slice(0, slash)
  const most = isIP(address) === 6 ? 128 : 32
  const bits = slash < 0 ? most : /^\d{1,3}$/.test(cidr.slice(slash + 1)) ? Number(cidr.slice(slash + 1)) : -1
  return isIP(address) === 0 || bits < 0 || bits > most ? undefined : { address, bits }
}

/** Whether a text is an address or a range of addresses: `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32`. */
export const isCidr = (text: string): boolean => bitsOf(text) !== undefined

/**
 * Whether an address lies in one of the ranges. IPv4 addresses in IPv6 form (`::ffff:192.0.2.7`), as sockets for both
 * families give them, count as IPv4. Ranges that are not valid match nothing.
 */
export const matcher = (ranges: ReadonlyArray<string>): ((address: string) => boolean) => {
  const list = new BlockList()
  for (const range of ranges) {
    const parsed = bitsOf(range)
    if (parsed !== undefined) list.addSubnet(parsed.address, parsed.bits, familyOf(parsed.address))
  }
  return (address) => {
    const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
    return isIP(plain) !== 0 && list.check(plain, familyOf(plain))
  }
}

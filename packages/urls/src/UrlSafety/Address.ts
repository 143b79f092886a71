import { isIP } from "node:net"

/**
 * The class of an IP address. `public`: the internet. `private`: this machine or its networks, allowed only with
 * `SVC_ALLOW_PRIVATE_URLS`. `forbidden`: cloud metadata, link-local, multicast, broadcast, reserved and documentation
 * ranges.
 */
export type AddressClass = "public" | "private" | "forbidden"

const octetsOf = (address: string): number => {
  let value = 0
  for (const part of address.split(".")) value = value * 256 + Number(part)
  return value
}

const rangeOf = (cidr: string, addressClass: AddressClass) => {
  const [base = "", bits = "32"] = cidr.split("/")
  const size = 2 ** (32 - Number(bits))
  const start = octetsOf(base)
  return { start, end: start + size - 1, addressClass }
}

/** IANA's special-purpose address registry. The first match applies, so single addresses precede their networks. */
const ranges4 = [
  // Cloud metadata and platform services outside link-local: Alibaba, Oracle, Azure.
  rangeOf("100.100.100.200/32", "forbidden"),
  rangeOf("192.0.0.192/32", "forbidden"),
  rangeOf("168.63.129.16/32", "forbidden"),
  rangeOf("0.0.0.0/8", "private"),
  rangeOf("10.0.0.0/8", "private"),
  rangeOf("100.64.0.0/10", "private"),
  rangeOf("127.0.0.0/8", "private"),
  rangeOf("169.254.0.0/16", "forbidden"),
  rangeOf("172.16.0.0/12", "private"),
  rangeOf("192.0.0.0/24", "forbidden"),
  rangeOf("192.0.2.0/24", "forbidden"),
  rangeOf("192.88.99.0/24", "forbidden"),
  rangeOf("192.168.0.0/16", "private"),
  rangeOf("198.18.0.0/15", "private"),
  rangeOf("198.51.100.0/24", "forbidden"),
  rangeOf("203.0.113.0/24", "forbidden"),
  rangeOf("224.0.0.0/4", "forbidden"),
  rangeOf("240.0.0.0/4", "forbidden")
]

const classOf4 = (value: number): AddressClass =>
  ranges4.find((range) => value >= range.start && value <= range.end)?.addressClass ?? "public"

/** The eight 16-bit groups of a valid IPv6 address without a zone. */
export const groupsOf = (address: string): ReadonlyArray<number> => {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  let text = address
  if (dotted !== null) {
    const value = octetsOf(dotted[2] ?? "")
    text = `${dotted[1]}${Math.floor(value / 65536).toString(16)}:${(value % 65536).toString(16)}`
  }
  const [head = "", tail] = text.split("::")
  const read = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)))
  const front = read(head)
  if (tail === undefined) return front
  const back = read(tail)
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back]
}

/** Metadata services at a single unique local address: Oracle, Scaleway. */
const metadata6 = new Set(["fd00:c1::a9fe:a9fe", "fd00:42::42"].map((address) => groupsOf(address).join()))

const classOf6 = (groups: ReadonlyArray<number>): AddressClass => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const last4 = g * 65536 + h
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0) {
    if (f === 0xffff) return classOf4(last4) // ::ffff:a.b.c.d, the IPv4 address itself
    if (f === 0 && last4 <= 1) return "private" // :: and ::1
    return "forbidden" // ::a.b.c.d, deprecated
  }
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return classOf4(last4) // NAT64
  if (a === 0xfd00 && b === 0x0ec2) return "forbidden" // AWS metadata, DNS, time
  if (a === 0xfd20 && b === 0x00ce) return "forbidden" // Google metadata
  if (metadata6.has(groups.join())) return "forbidden"
  if ((a & 0xfe00) === 0xfc00) return "private" // unique local
  if ((a & 0xe000) !== 0x2000) return "forbidden" // link-local, site-local, multicast, translation, unassigned
  if (a === 0x2001 && b < 0x0200) return "forbidden" // Teredo and other IETF protocols
  if (a === 0x2001 && b === 0x0db8) return "forbidden" // documentation
  if (a === 0x3fff && b < 0x1000) return "forbidden" // documentation
  if (a === 0x2002) return classOf4(b * 65536 + c) // 6to4
  if ((e === 0 || e === 0x0200) && f === 0x5efe) return classOf4(last4) // ISATAP
  return "public"
}

/** The class of a textual address; `forbidden` if it is not an address. */
export const classOf = (address: string): AddressClass => {
  switch (isIP(address)) {
    case 4:
      return classOf4(octetsOf(address))
    case 6:
      // A zone (`%eth0`) only makes sense on a local link.
      return address.includes("%") ? "forbidden" : classOf6(groupsOf(address))
    default:
      return "forbidden"
  }
}

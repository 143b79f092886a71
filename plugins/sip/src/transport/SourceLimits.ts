import { isIP } from "node:net"

/** Sources that are remembered at most. */
const maxSources = 10_000

interface Bucket {
  tokens: number
  at: number
}

/** The first 64 bits of an IPv6 address, as text: the network of one customer. */
const networkOf = (address: string): string => {
  const [before = "", after] = address.toLowerCase().split("%", 1)[0]?.split("::") ?? []
  const groups = (part: string | undefined): ReadonlyArray<string> =>
    part === undefined || part === "" ? [] : part.split(":")
  // An address in IPv4 form takes the place of two groups.
  const size = (part: ReadonlyArray<string>): number =>
    part.reduce((sum, each) => sum + (each.includes(".") ? 2 : 1), 0)
  const [first, last] = [groups(before), groups(after)]
  const zeros = after === undefined ? 0 : Math.max(0, 8 - size(first) - size(last))
  const all = [...first, ...Array.from({ length: zeros }, () => "0"), ...last]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`
}

/** The source to which an address belongs: itself, or the /64 network of IPv6, in which a host can use any address. */
export const sourceOf = (address: string): string => (isIP(address) === 6 ? networkOf(address) : address)

/** How many messages each source may send: `perSecond` in the long run, and `atOnce` at once. Times are ms. */
export class SourceLimits {
  readonly #perSecond: number
  readonly #atOnce: number
  /** The oldest use first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(perSecond: number, atOnce: number = perSecond) {
    this.#perSecond = perSecond
    this.#atOnce = atOnce
  }

  /** Whether a message of this address would be taken. */
  has(address: string, now: number): boolean {
    const bucket = this.#buckets.get(sourceOf(address))
    return bucket === undefined || this.#tokens(bucket, now) >= 1
  }

  /** Whether a message of this address is taken. */
  take(address: string, now: number): boolean {
    const source = sourceOf(address)
    const bucket = this.#buckets.get(source) ?? { tokens: this.#atOnce, at: now }
    this.#buckets.delete(source)
    this.#buckets.set(source, bucket)
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > maxSources && oldest !== undefined) this.#buckets.delete(oldest)
    bucket.tokens = this.#tokens(bucket, now)
    bucket.at = now
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  #tokens({ at, tokens }: Bucket, now: number): number {
    return Math.min(this.#atOnce, tokens + ((now - at) / 1000) * this.#perSecond)
  }
}

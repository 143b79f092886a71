/** Sources that are remembered at most. */
const maxSources = 10_000

interface Bucket {
  tokens: number
  at: number
}

/** How many messages each address may send: `perSecond` in the long run, and as many at once. Times are ms. */
export class SourceLimits {
  readonly #perSecond: number
  /** The oldest use first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Whether a message of this address is taken. */
  take(address: string, now: number): boolean {
    const bucket = this.#buckets.get(address) ?? { tokens: this.#perSecond, at: now }
    this.#buckets.delete(address)
    this.#buckets.set(address, bucket)
    const [oldest] = this.#buckets.keys()
    if (this.#buckets.size > maxSources && oldest !== undefined) this.#buckets.delete(oldest)
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}

import type { LookupAddress } from "node:dns"

/** Receives all addresses of a name, or an error. */
export type LookupCallback = (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void

/** Resolves a name. */
export type LookupFunction = (hostname: string, done: LookupCallback) => void

/** Maximum number of waiting names. */
const maxWaiting = 1000

/** In the form of the operating system's errors for a name server that does not answer. */
class TooManyNames extends Error {
  readonly code = "EAI_AGAIN"
  constructor() {
    super("too many host names are being looked up")
  }
}

/**
 * Limits concurrent lookups and queues the rest. Requests for a name that is being looked up share its answer. The
 * newest name goes first, since under load the callers of older ones have timed out; above 1000 the oldest is refused.
 */
export class LookupQueue {
  readonly #lookup: LookupFunction
  readonly #concurrency: number
  /** By name. */
  readonly #callbacks = new Map<string, Array<LookupCallback>>()
  readonly #waiting: Array<string> = []
  #running = 0

  constructor(lookup: LookupFunction, concurrency: number) {
    this.#lookup = lookup
    this.#concurrency = concurrency
  }

  resolve(hostname: string, done: LookupCallback): void {
    const pending = this.#callbacks.get(hostname)
    if (pending !== undefined) {
      pending.push(done)
      return
    }
    this.#callbacks.set(hostname, [done])
    this.#waiting.push(hostname)
    this.#next()
    const oldest = this.#waiting.length > maxWaiting ? this.#waiting.shift() : undefined
    if (oldest !== undefined) this.#complete(oldest, new TooManyNames(), [])
  }

  #next(): void {
    if (this.#running >= this.#concurrency) return
    const hostname = this.#waiting.pop()
    if (hostname === undefined) return
    this.#running++
    this.#lookup(hostname, (error, addresses) => {
      this.#running--
      this.#next()
      this.#complete(hostname, error, addresses)
    })
  }

  #complete(hostname: string, error: Error | null, addresses: ReadonlyArray<LookupAddress>): void {
    const callbacks = this.#callbacks.get(hostname) ?? []
    this.#callbacks.delete(hostname)
    for (const done of callbacks) done(error, addresses)
  }
}

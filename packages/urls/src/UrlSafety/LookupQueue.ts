import type { LookupAddress } from "node:dns"

/** Gets all addresses of a name, or why it has none. */
export type Answer = (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void

/** Asks somebody for the addresses of a name. */
export type Ask = (hostname: string, done: Answer) => void

/** Names that may wait for their turn. */
const maxWaiting = 1000

/** In the form of the operating system's own errors for a name server that does not answer. */
class TooManyNames extends Error {
  readonly code = "EAI_AGAIN"
  constructor() {
    super("too many host names are being looked up")
  }
}

/**
 * Lets so many lookups run at once; the pending stand in line. Who asks for a name that is being looked up gets the same
 * answer. The newest goes first: under load the pending were given up by those who asked, and from 1000 on they are refused.
 */
export class LookupQueue {
  readonly #ask: Ask
  readonly #concurrency: number
  /** Who is to be told, by name. */
  readonly #callbacks = new Map<string, Array<Answer>>()
  readonly #waiting: Array<string> = []
  #running = 0

  constructor(ask: Ask, concurrency: number) {
    this.#ask = ask
    this.#concurrency = concurrency
  }

  resolve(hostname: string, done: Answer): void {
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
    this.#ask(hostname, (error, addresses) => {
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

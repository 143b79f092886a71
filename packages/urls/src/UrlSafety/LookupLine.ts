import type { LookupAddress } from "node:dns"

/** Gets all addresses of a name, or why it has none. */
export type Answer = (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void

/** Asks somebody for the addresses of a name. */
export type Ask = (hostname: string, done: Answer) => void

/** Names that may wait for their turn. */
const longest = 1000

/** In the form of the operating system's own errors for a name server that does not answer. */
class TooManyNames extends Error {
  readonly code = "EAI_AGAIN"
  constructor() {
    super("too many host names are being looked up")
  }
}

/**
 * Lets so many lookups run at once; the others stand in line. Who asks for a name that is being looked up gets the same
 * answer. The newest goes first: under load the others were given up by those who asked, and from 1000 on they are refused.
 */
export class LookupLine {
  readonly #ask: Ask
  readonly #atOnce: number
  /** Who is to be told, by name. */
  readonly #told = new Map<string, Array<Answer>>()
  readonly #waiting: Array<string> = []
  #running = 0

  constructor(ask: Ask, atOnce: number) {
    this.#ask = ask
    this.#atOnce = atOnce
  }

  resolve(hostname: string, done: Answer): void {
    const others = this.#told.get(hostname)
    if (others !== undefined) {
      others.push(done)
      return
    }
    this.#told.set(hostname, [done])
    this.#waiting.push(hostname)
    this.#next()
    const oldest = this.#waiting.length > longest ? this.#waiting.shift() : undefined
    if (oldest !== undefined) this.#tell(oldest, new TooManyNames(), [])
  }

  #next(): void {
    if (this.#running >= this.#atOnce) return
    const hostname = this.#waiting.pop()
    if (hostname === undefined) return
    this.#running++
    this.#ask(hostname, (error, addresses) => {
      this.#running--
      this.#next()
      this.#tell(hostname, error, addresses)
    })
  }

  #tell(hostname: string, error: Error | null, addresses: ReadonlyArray<LookupAddress>): void {
    const told = this.#told.get(hostname) ?? []
    this.#told.delete(hostname)
    for (const done of told) done(error, addresses)
  }
}

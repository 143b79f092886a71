import type { CallNetwork } from "./CallNetwork.ts"

/** When the outcome of a transfer is given up, in milliseconds since its start. The engine waits 30 s. */
const transferMs = 28_000
/** How often Twilio is asked for the destination's call during a transfer, in milliseconds: a webhook may be lost. */
const destinationMs = 2000

export interface DestinationWatchOptions {
  readonly network: Pick<CallNetwork, "askDestination" | "now">
  /** The call that is transferred. */
  readonly sid: string
  /** The destination has answered, and no webhook has said so. */
  readonly onAnswered: () => void
  /** The time for the outcome is over, and the destination has not answered. */
  readonly onGivenUp: () => void
}

/** Asks Twilio for the outcome of a transfer, because a webhook may be lost. It begins with the transfer. */
export class DestinationWatch {
  readonly #options: DestinationWatchOptions
  readonly #dueAt: number
  #askAt: number
  #isAsking = false
  #hasEnded = false

  constructor(options: DestinationWatchOptions) {
    this.#options = options
    const now = options.network.now()
    this.#dueAt = now + transferMs
    this.#askAt = now + destinationMs
  }

  /** Asks while the caller has no stream, and when the time for the outcome is over. Called a few times a second. */
  check(hasStream: boolean): void {
    const { network, onAnswered, onGivenUp, sid } = this.#options
    const now = network.now()
    if (this.#isAsking || now < this.#askAt || (hasStream && now < this.#dueAt)) return
    this.#askAt = now + destinationMs
    this.#isAsking = true
    network.askDestination(sid, (state) => {
      this.#isAsking = false
      if (this.#hasEnded) return
      if (state === "answered") onAnswered()
      else if (state !== "unknown" && network.now() >= this.#dueAt) onGivenUp()
    })
  }

  /** The transfer has an outcome; answers that are still awaited change nothing. */
  end(): void {
    this.#hasEnded = true
  }
}

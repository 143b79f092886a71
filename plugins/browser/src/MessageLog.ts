/**
 * The numbered messages to a page that it has not acknowledged, so that they can be sent again when it reconnects.
 * Messages are counted from 1.
 */
export class MessageLog {
  readonly #messages: Array<string | Uint8Array> = []
  /** How many messages were acknowledged. */
  #acknowledged = 0
  #bytes = 0

  /** How many bytes were not acknowledged. */
  get bytes(): number {
    return this.#bytes
  }

  add(message: string | Uint8Array): void {
    this.#messages.push(message)
    this.#bytes += message.length
  }

  /** The page has the first `received` messages. False: there were not so many, or it had more before. */
  acknowledge(received: number): boolean {
    const count = received - this.#acknowledged
    if (count < 0 || count > this.#messages.length) return false
    for (const message of this.#messages.splice(0, count)) this.#bytes -= message.length
    this.#acknowledged = received
    return true
  }

  /** What was not acknowledged, in order. */
  get pending(): ReadonlyArray<string | Uint8Array> {
    return this.#messages
  }
}

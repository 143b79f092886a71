/** How far a timestamp may be from the packets before it and still follow them, in milliseconds. */
const toleranceMs = 100

/**
 * The places of packets in the audio. Twilio counts whole milliseconds, and its packets follow each other without gaps as long as it
 * sends; so a packet is placed by its number after the one before, unless the times differ by more than a pause does.
 */
export class PacketTimes {
  readonly #perMs: number
  #last: { readonly chunk: number; readonly at: number; readonly samples: number } | undefined

  constructor(sampleRate: number) {
    this.#perMs = sampleRate / 1000
  }

  /** The timestamp of a packet of so many samples, in samples, modulo 2^32. */
  place(chunk: number, timestampMs: number, samples: number): number {
    const told = timestampMs * this.#perMs
    const last = this.#last
    const followed = last === undefined ? told : last.at + (chunk - last.chunk) * last.samples
    const at = Math.abs(told - followed) > toleranceMs * this.#perMs ? told : followed
    if (last === undefined || chunk > last.chunk) this.#last = { chunk, at, samples }
    return ((at % 2 ** 32) + 2 ** 32) % 2 ** 32
  }
}

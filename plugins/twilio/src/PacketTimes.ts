/** How far a time may be from the packets before it and still follow them, in milliseconds. */
const toleranceMs = 100

/** Where a packet belongs, for the jitter buffer of the engine. */
export interface PacketPlace {
  /** Modulo 2^16. */
  readonly sequence: number
  /** In samples, modulo 2^32. */
  readonly timestamp: number
}

const modulo = (value: number, range: number): number => ((value % range) + range) % range

/**
 * The places of packets in the audio of a call. Twilio counts whole milliseconds, and its packets follow each other without
 * gaps as long as it sends; so a packet is placed by its number after the one before, unless the times differ by more than a
 * pause does. A stream that takes the place of another one goes on after it.
 */
export class PacketTimes {
  readonly #perMs: number
  /** The first packet of the stream, as Twilio counts it and where it was placed. */
  #first: { readonly chunk: number; readonly ms: number; readonly sequence: number; readonly at: number } | undefined
  #last:
    | { readonly chunk: number; readonly sequence: number; readonly at: number; readonly samples: number }
    | undefined
  #pauseMs = 0

  constructor(sampleRate: number) {
    this.#perMs = sampleRate / 1000
  }

  /** Another stream begins, so many milliseconds after the last packet. */
  restart(pauseMs: number): void {
    this.#first = undefined
    this.#pauseMs = pauseMs
  }

  /** `ms`: the time that Twilio gives. */
  place(chunk: number, ms: number, samples: number): PacketPlace {
    const last = this.#last
    const first = this.#first ?? this.#begin(chunk, ms)
    const isNew = this.#first === undefined
    this.#first = first
    const stated = first.at + (ms - first.ms) * this.#perMs
    const followed = last === undefined || isNew ? stated : last.at + (chunk - last.chunk) * last.samples
    const at = Math.abs(stated - followed) > toleranceMs * this.#perMs ? stated : followed
    const sequence = first.sequence + chunk - first.chunk
    if (last === undefined || isNew || chunk > last.chunk) this.#last = { chunk, sequence, at, samples }
    return { sequence: modulo(sequence, 2 ** 16), timestamp: modulo(at, 2 ** 32) }
  }

  #begin(chunk: number, ms: number) {
    const last = this.#last
    if (last === undefined) return { chunk, ms, sequence: chunk, at: ms * this.#perMs }
    const pause = Math.max(last.samples, Math.round(this.#pauseMs) * this.#perMs)
    return { chunk, ms, sequence: last.sequence + 1, at: last.at + pause }
  }
}

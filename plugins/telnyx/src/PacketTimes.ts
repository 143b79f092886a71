/** Samples by which a packet's time may differ from its place in the sequence before that is a pause: 60 ms. */
const tolerance = 480
const samplesPerMs = 8

interface Packet {
  /** Its number in the stream. */
  readonly chunk: number
  /** Its time in samples since the start of the stream, as the carrier says. */
  readonly given: number
  /** Its time in samples in the call. */
  readonly timestamp: number
}

/**
 * The sequence numbers and timestamps of the packets of a call, from the chunk numbers and milliseconds that the carrier
 * gives. The times of consecutive packets follow from their numbers, so that the jitter of the given times is not heard; a
 * packet that is later than its number says begins after a pause. They go on when the call gets another stream.
 */
export class PacketTimes {
  /** What the numbers of this stream begin with. */
  #base = { sequence: 0, timestamp: 0 }
  #first: Packet | undefined
  #anchor: Packet | undefined
  #last = { sequence: -1, end: 0 }
  #unnumbered = 0

  /** Another stream begins, so many milliseconds after the last one has ended. */
  restart(pauseMs: number): void {
    this.#base = {
      sequence: this.#last.sequence + 1,
      timestamp: this.#last.end + Math.max(0, Math.round(pauseMs * samplesPerMs))
    }
    this.#first = undefined
    this.#anchor = undefined
    this.#unnumbered = 0
  }

  /** The numbers of a packet with so many samples. `ms`: its time in the stream. */
  next(
    chunk: number | undefined,
    ms: number | undefined,
    samples: number
  ): { readonly sequence: number; readonly timestamp: number } {
    const number = chunk ?? ++this.#unnumbered
    const given = ms === undefined ? undefined : Math.round(ms * samplesPerMs)
    const anchor = this.#anchor ?? { chunk: number, given: given ?? 0, timestamp: this.#base.timestamp }
    this.#first ??= anchor
    this.#anchor = anchor
    const inRow = anchor.timestamp + (number - anchor.chunk) * samples
    const late = given === undefined ? 0 : given - anchor.given - (inRow - anchor.timestamp)
    let timestamp = inRow
    if (late > tolerance && number >= anchor.chunk) {
      timestamp = inRow + late
      this.#anchor = { chunk: number, given: given ?? 0, timestamp }
    } else if (number < anchor.chunk && Math.abs(late) > tolerance) {
      // It belongs before the pause.
      timestamp = inRow + late
    }
    const sequence = this.#base.sequence + number - this.#first.chunk
    if (sequence > this.#last.sequence) this.#last = { sequence, end: timestamp + samples }
    return { sequence: sequence & 0xffff, timestamp: timestamp >>> 0 }
  }
}

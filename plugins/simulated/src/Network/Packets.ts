import type { Seeded } from "../Realism/Seeded.ts"

const frameLength = 160

/** Where the audio of a packet belongs; see `Audio` of the contract. */
export interface Packet {
  readonly sequence: number
  readonly timestamp: number
}

/** Both numbers begin a few seconds of speech before they wrap, so that each call has to cope with it. */
const firstSequence = 0x1_0000 - 100
const firstTimestamp = 0x1_0000_0000 - 3 * 8000

/** After a pause that is longer, in samples, the timestamps follow the clock again. */
const pause = 5 * frameLength

/** Numbers the packets of a phone. Nothing is sent in silence, so timestamps jump after it and sequence numbers do not. */
export class PacketStream {
  readonly #now: () => number
  readonly #start: number
  #count = 0
  /** In samples since the start. */
  #next = 0

  /** `now` in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
    this.#start = now()
  }

  next(): Packet {
    const elapsed = Math.floor(((this.#now() - this.#start) * 8) / frameLength) * frameLength
    const at = elapsed - this.#next > pause ? elapsed : this.#next
    this.#next = at + frameLength
    return { sequence: (firstSequence + this.#count++) % 0x1_0000, timestamp: (firstTimestamp + at) % 0x1_0000_0000 }
  }
}

/** Delivers some packets after the packet that follows them. */
export class PacketOrder {
  readonly #random: Seeded
  readonly #deliver: (audio: Uint8Array, packet: Packet) => void
  #held: { readonly audio: Uint8Array; readonly packet: Packet } | undefined
  /** Ticks since a packet is held. */
  #ticks = 0

  constructor(random: Seeded, deliver: (audio: Uint8Array, packet: Packet) => void) {
    this.#random = random
    this.#deliver = deliver
  }

  get isWaiting(): boolean {
    return this.#held !== undefined
  }

  /** Takes the next packet in order; `share` of them are overtaken. */
  put(audio: Uint8Array, packet: Packet, share: number): void {
    if (this.#held === undefined && share > 0 && this.#random.next() < share) {
      // The audio is valid only during the call.
      this.#held = { audio: audio.slice(), packet }
      this.#ticks = 0
      return
    }
    this.#deliver(audio, packet)
    this.#release()
  }

  /** After 20 ms more: a packet that none follows is delivered. */
  tick(): void {
    if (this.#held !== undefined && ++this.#ticks >= 2) this.#release()
  }

  clear(): void {
    this.#held = undefined
  }

  #release(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#deliver(held.audio, held.packet)
  }
}

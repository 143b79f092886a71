import type { LineQuality } from "@svc/providers/Telephony"
import { DigitReceiver } from "./DigitReceiver.ts"
import { copyAs } from "./LawConversion.ts"
import type { AudioType, Law, MediaParameters } from "./MediaParameters.ts"
import { ReceptionStatistics } from "./ReceptionStatistics.ts"
import type { RtpPacket } from "./RtpPacket.ts"

/** Of G.711, comfort noise and telephone events. */
export const clockRate = 8000

/** Gets what the peer sends. */
export interface MediaListener {
  /**
   * A packet of audio in the law of the session, valid only during the call. A packet without audio, such as that of a
   * telephone event or of comfort noise, is empty: its sequence number is not missing.
   */
  readonly onAudio: (payload: Uint8Array, sequence: number, timestamp: number) => void
  /** A digit begins. */
  readonly onDigit: (digit: string) => void
}

const empty = new Uint8Array(0)

/** The stream that the peer sends: audio, digits and silence, and how well they came. */
export class IncomingStream {
  readonly #law: Law
  readonly #listener: MediaListener
  readonly #digits: DigitReceiver
  #audio: ReadonlyArray<AudioType> = []
  #telephoneEvents: ReadonlyArray<number | undefined> = []
  #comfortNoise: number | undefined
  #isHeard = false
  #isInNoise = false
  #ssrc: number | undefined
  #statistics = new ReceptionStatistics(clockRate)
  /** Of streams before this one. */
  #lostBefore = 0
  #lateBefore = 0

  constructor(law: Law, listener: MediaListener) {
    this.#law = law
    this.#listener = listener
    this.#digits = new DigitReceiver(listener.onDigit)
  }

  negotiate({ audio, comfortNoise, direction, offeredTelephoneEvent, telephoneEvent }: MediaParameters): void {
    this.#audio = audio
    this.#comfortNoise = comfortNoise
    this.#telephoneEvents = [telephoneEvent, offeredTelephoneEvent]
    this.#isHeard = direction === "sendrecv"
  }

  /** The stream; undefined: nothing came yet. */
  get ssrc(): number | undefined {
    return this.#ssrc
  }

  /** Of the current SSRC. */
  get statistics(): ReceptionStatistics {
    return this.#statistics
  }

  /** Whether the last packet was comfort noise. */
  get isInNoise(): boolean {
    return this.#isInNoise
  }

  /** Since the beginning of the call. */
  get quality(): LineQuality {
    const { jitterMs, late, lost } = this.#statistics
    return {
      packetsLost: this.#lostBefore + lost,
      packetsLate: this.#lateBefore + late,
      jitterMs: jitterMs === null ? null : Math.round(jitterMs * 10) / 10
    }
  }

  /** Whether packets of the type were negotiated. Comfort noise has its type without it (RFC 3551, 6). */
  knows(payloadType: number): boolean {
    return (
      this.#lawOf(payloadType) !== undefined ||
      this.#isNoise(payloadType) ||
      this.#telephoneEvents.includes(payloadType)
    )
  }

  /** Takes a packet of the peer with a known type. */
  take(packet: RtpPacket, bytes: Uint8Array, now: number): void {
    const { isMarked, payloadEnd, payloadStart, payloadType, sequence, timestamp } = packet
    if (packet.ssrc !== this.#ssrc) this.#begin(packet.ssrc)
    const law = this.#lawOf(payloadType)
    this.#isInNoise = this.#isNoise(payloadType)
    if (law === undefined) {
      if (!this.#statistics.addUntimed(sequence) || !this.#isHeard) return
      this.#listener.onAudio(empty, sequence, timestamp)
      if (this.#telephoneEvents.includes(payloadType)) {
        this.#digits.push(bytes, payloadStart, payloadEnd, timestamp, isMarked)
      }
      return
    }
    if (!this.#statistics.add(sequence, timestamp, now) || !this.#isHeard) return
    if (law !== this.#law) copyAs(law, this.#law, bytes, payloadStart, payloadEnd, bytes, payloadStart)
    this.#listener.onAudio(bytes.subarray(payloadStart, payloadEnd), sequence, timestamp)
  }

  #isNoise(payloadType: number): boolean {
    return payloadType === 13 || payloadType === this.#comfortNoise
  }

  #lawOf(payloadType: number): Law | undefined {
    for (const type of this.#audio) if (type.payloadType === payloadType) return type.law
    return undefined
  }

  #begin(ssrc: number): void {
    this.#lostBefore += this.#statistics.lost
    this.#lateBefore += this.#statistics.late
    this.#statistics = new ReceptionStatistics(clockRate)
    this.#ssrc = ssrc
    this.#digits.restart()
  }
}

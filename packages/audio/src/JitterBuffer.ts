import type { LineQuality } from "@svc/providers/Telephony"
import type { Codec } from "./Codec.ts"
import { Arrivals } from "./JitterBuffer/Arrivals.ts"
import { LossConcealment } from "./JitterBuffer/LossConcealment.ts"
import { PacketSequence } from "./JitterBuffer/PacketSequence.ts"
import { SampleStore } from "./JitterBuffer/SampleStore.ts"

/** Length of a frame in ms. */
const frameMs = 20
/** How far a packet may be ahead of a missing one, in ms; what is stored is never more. */
const mostStored = 1000
/** The longest packet that the next one is expected after, in ms. */
const longestPacket = 1000
/** Milliseconds of silence after the last audio of a line that has stopped; longer than any end of turn takes. */
const mostSilence = 6000
/** Audio that may come faster than real time, in ms, and by how much a sender's clock may be fast. */
const mostAhead = 10_000
const fastest = 1.01

/**
 * Gets one frame of 20 ms, valid only during the call. `at`: when its first sample arrived, or would have, with the
 * least delay, in ms. `isSilence`: nothing of it was heard, because the line has stopped.
 */
export type OnFrame = (frame: Int16Array, at: number, isSilence: boolean) => void

/**
 * What a call leg delivers, as frames of 20 ms without a gap. Audio in order passes at once. A missing packet is waited
 * for as long as packets were late recently, 60 to 400 ms, while later ones are stored; then it is concealed. A line
 * that stops is silence 60 ms after its next audio was due, for 6 s. Times are those of a clock in ms that does not
 * count when this process could not read.
 *
 * Nothing is dropped or repeated to keep up with the clock: who listens here takes audio at any speed.
 */
export class JitterBuffer {
  readonly #codec: Codec
  readonly #samplesPerMs: number
  readonly #onFrame: OnFrame
  readonly #sequence = new PacketSequence()
  readonly #arrivals: Arrivals
  readonly #concealment: LossConcealment
  /** Made with the first packet; legs without gaps have none. */
  #store: SampleStore | undefined
  readonly #frame: Int16Array
  #filled = 0
  #frameAt = 0
  #isSilence = true
  #hasConcealed = false
  /** Position after the last sample passed on. */
  #next = 0
  /** The newest packet's position and timestamp, and the position after it. */
  #newest = 0
  #timestamp = 0
  #newestEnd = 0
  /** Samples until the next packet is expected. */
  #packet = 0
  /** Samples of silence since the line stopped. */
  #inserted = 0
  #isActive = false
  #late = 0
  #packets = 0
  /** Samples that may come now, and since when. */
  #credit: number
  #creditedAt = 0
  /** Packets were dropped, because there were too many: the next one follows what was passed on. */
  #isSkipping = false

  constructor(options: { readonly sampleRate: number; readonly codec: Codec; readonly onFrame: OnFrame }) {
    this.#codec = options.codec
    this.#samplesPerMs = options.sampleRate / 1000
    this.#onFrame = options.onFrame
    this.#arrivals = new Arrivals(options.sampleRate)
    this.#concealment = new LossConcealment(options.sampleRate)
    this.#frame = new Int16Array(frameMs * this.#samplesPerMs)
    this.#credit = mostAhead * this.#samplesPerMs
  }

  /** Takes audio of a leg without gaps, any number of bytes, at `now`. */
  push(bytes: Uint8Array, now: number): void {
    const count = this.#samplesIn(bytes)
    if (count === 0) return
    this.#arrive(this.#next + count, now, "next")
    this.#expectNext(count)
    this.#append(bytes, 0, count)
  }

  /** Takes a packet. `sequence` wraps at 2^16; `timestamp` counts samples and wraps at 2^32. */
  pushPacket(bytes: Uint8Array, sequence: number, timestamp: number, now: number): void {
    const arrival = this.#sequence.add(sequence)
    const count = this.#samplesIn(bytes)
    if (arrival === "duplicate" || arrival === "stray" || count === 0 || !this.#affords(count, now)) return
    this.#packets++
    if (this.#store === undefined) this.#store = new SampleStore(mostStored * this.#samplesPerMs, this.#codec)
    const store = this.#store
    const isOld = arrival === "old"
    const position = isOld ? this.#positionOf(timestamp) : this.#placeNewest(store, arrival, timestamp, count)
    // Its time contradicts its number.
    if (isOld && position >= this.#newestEnd) return
    this.#arrive(position + count, now, isOld ? "old" : "new")
    if (position + count <= this.#next) {
      this.#late++
      return
    }
    // Nothing is missing before it: the network sent nothing in a pause.
    const isAfterPause = !isOld && this.#sequence.ahead === 1 && store.count === 0 && this.#newestEnd <= this.#next
    if (!isOld) {
      this.#newest = position
      this.#timestamp = timestamp
      this.#newestEnd = position + count
    }
    this.#expectNext(count)
    if (isAfterPause && position > this.#next) this.#conceal(position - this.#next)
    const known = Math.max(0, this.#next - position)
    const offset = known * this.#codec.bytesPerSample
    const size = store.size - (position + known - this.#next)
    if (store.count === 0 && position <= this.#next) this.#append(bytes, offset, count - known)
    else store.write(position + known, bytes, offset, Math.min(size, count - known))
    this.#release(store, now)
  }

  /** The clock stood still for `ms`, because this process did not read. */
  paused(ms: number): void {
    this.#arrivals.paused(ms)
    this.#credit += ms * this.#samplesPerMs
  }

  /** Passes on what is due at `now`. False: nothing will be due until audio comes again. */
  tick(now: number): boolean {
    if (!this.#isActive) return false
    if (this.#store !== undefined) this.#release(this.#store, now)
    if (this.#store !== undefined && this.#store.count > 0) return true
    const overdue = now - this.#arrivals.timeOf(this.#next + this.#packet)
    if (this.#inserted > 0 || overdue > this.#arrivals.wait) this.#insertSilence(now)
    if (this.#inserted >= mostSilence * this.#samplesPerMs) this.#isActive = false
    return this.#isActive
  }

  /** Undefined: the leg has delivered no packets. */
  get quality(): LineQuality | undefined {
    if (this.#packets === 0) return undefined
    const jitterMs = this.#packets < 2 ? null : Math.round(this.#arrivals.jitter * 10) / 10
    return { packetsLost: this.#sequence.lost, packetsLate: this.#late, jitterMs }
  }

  #samplesIn(bytes: Uint8Array): number {
    return Math.floor(bytes.length / this.#codec.bytesPerSample)
  }

  #affords(count: number, now: number): boolean {
    const most = mostAhead * this.#samplesPerMs
    this.#credit = Math.min(most, this.#credit + (now - this.#creditedAt) * this.#samplesPerMs * fastest)
    this.#creditedAt = now
    if (this.#credit < count) {
      this.#isSkipping = true
      return false
    }
    this.#credit -= count
    return true
  }

  #expectNext(count: number): void {
    this.#packet = Math.min(longestPacket * this.#samplesPerMs, Math.max(count, Math.floor((this.#packet * 63) / 64)))
    this.#inserted = 0
    this.#isActive = true
  }

  #positionOf(timestamp: number): number {
    return this.#newest + ((timestamp - this.#timestamp) | 0)
  }

  /** The position of a packet that is newer than all before; what is stored goes on if it belongs elsewhere. */
  #placeNewest(store: SampleStore, arrival: "new" | "restart", timestamp: number, count: number): number {
    const position = this.#positionOf(timestamp)
    if (arrival === "new" && !this.#isSkipping) {
      // The silence of a pause takes the place of what was not sent or lost.
      if (position > this.#next) this.#next += Math.min(position - this.#next, this.#inserted)
      if (position >= this.#newestEnd && position + count <= this.#next + store.size) return position
    }
    this.#isSkipping = false
    this.#flush(store)
    return this.#next
  }

  #arrive(end: number, now: number, kind: "next" | "new" | "old"): void {
    const arrivals = this.#arrivals
    const isLate = kind === "next" || now - arrivals.timeOf(end) > arrivals.wait
    // After a stop the delay of the line is not known, or its clock stood still.
    const isReturn = kind !== "old" && (!this.#isActive || (this.#inserted > 0 && isLate))
    if (isReturn) arrivals.restart(end, now)
    else arrivals.add(end, now, kind === "old")
  }

  #release(store: SampleStore, now: number): void {
    while (store.count > 0) {
      const present = store.present(this.#next)
      if (present > 0) this.#take(store, present)
      else {
        const due = this.#arrivals.positionAt(now - this.#arrivals.wait) - this.#packet - this.#next
        if (due <= 0) return
        this.#conceal(Math.min(due, store.missing(this.#next)))
      }
    }
  }

  /** Passes on everything that is stored. */
  #flush(store: SampleStore): void {
    while (store.count > 0) {
      const missing = store.missing(this.#next)
      if (missing > 0) this.#conceal(missing)
      this.#take(store, store.present(this.#next))
    }
  }

  #append(bytes: Uint8Array, byteOffset: number, count: number): void {
    for (let done = 0; done < count; ) {
      const some = Math.min(count - done, this.#room())
      this.#codec.decode(bytes, byteOffset + done * this.#codec.bytesPerSample, some, this.#frame, this.#filled)
      done += some
      this.#heard(some)
    }
  }

  #take(store: SampleStore, count: number): void {
    for (let done = 0; done < count; ) {
      const some = Math.min(count - done, this.#room())
      store.take(this.#next, some, this.#frame, this.#filled)
      done += some
      this.#heard(some)
    }
  }

  #heard(count: number): void {
    this.#concealment.heard(this.#frame, this.#filled, count)
    this.#isSilence = false
    this.#next += count
    this.#advance(count)
  }

  #conceal(count: number): void {
    for (let done = 0; done < count; ) {
      const some = Math.min(count - done, this.#room())
      this.#concealment.fill(this.#frame, this.#filled, some, false)
      this.#isSilence = false
      this.#hasConcealed = true
      done += some
      this.#next += some
      this.#advance(some)
    }
  }

  #insertSilence(now: number): void {
    while (this.#inserted < mostSilence * this.#samplesPerMs) {
      const some = this.#room()
      // Not more than is overdue, or it would be heard beside the audio that may still come.
      if (this.#arrivals.positionAt(now) - this.#packet < this.#next + this.#inserted + some) return
      this.#concealment.fill(this.#frame, this.#filled, some, true)
      this.#hasConcealed = true
      this.#inserted += some
      this.#advance(some)
    }
  }

  /** Samples until the frame is complete, at least 1. */
  #room(): number {
    if (this.#filled === 0) {
      this.#frameAt = this.#arrivals.timeOf(this.#next + this.#inserted)
      this.#isSilence = true
      this.#hasConcealed = false
    }
    return this.#frame.length - this.#filled
  }

  #advance(count: number): void {
    this.#filled += count
    if (this.#filled < this.#frame.length) return
    this.#filled = 0
    if (!this.#hasConcealed) this.#concealment.learn(this.#frame)
    this.#onFrame(this.#frame, this.#frameAt, this.#isSilence)
  }
}

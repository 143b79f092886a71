const frameMs = 20
/** Frames that are kept: an echo is at most this many slots of 20 ms late. */
const kept = 64
/** A frame heard is at most this many slots behind. */
const furthestBehind = 10
/** Frames after which a constant delay of what is heard is removed: 1 s. */
const window = 50

/**
 * Pairs each frame heard with the frame that was sent in the same 20 ms. What is sent follows a clock; what is heard
 * arrives with jitter, in bursts, or not at all during silence: its frames are counted, and the count is corrected when
 * it is ahead of the time, or was behind it for a second.
 */
export class SentFrames {
  readonly #frames: ReadonlyArray<Int16Array>
  /** The slot of 20 ms in which each of them was sent. */
  readonly #slots = new Float64Array(kept).fill(-1)
  #sentSlot = Number.NEGATIVE_INFINITY
  #heardSlot = Number.NEGATIVE_INFINITY
  #leastBehind = window
  #heard = 0
  /** Frames still to come of those that arrive together. */
  #together = 0

  /** `frameSamples`: the samples of a frame. */
  constructor(frameSamples: number) {
    this.#frames = Array.from({ length: kept }, () => new Int16Array(frameSamples))
  }

  /** Keeps a copy of a frame that is sent at `now`, in milliseconds. */
  put(frame: Int16Array, now: number): void {
    const time = Math.floor(now / frameMs)
    const next = this.#sentSlot + 1
    // A frame that is sent a little early or late belongs to the slot after the one before it.
    this.#sentSlot = Math.abs(next - time) <= 1 ? next : time
    const at = this.#sentSlot % kept
    this.#frames[at]?.set(frame)
    this.#slots[at] = this.#sentSlot
  }

  /** The next `count` frames heard arrive together at `now`: they were heard until now, and not all of them now. */
  arrive(count: number, now: number): void {
    this.#together = count
    this.#heardSlot = Math.min(this.#heardSlot, Math.floor(now / frameMs) - count)
  }

  /** The frame that was sent while the next frame heard, which arrives at `now`, was; undefined: none. */
  take(now: number): Int16Array | undefined {
    const time = Math.floor(now / frameMs)
    const next = Math.min(this.#heardSlot + 1, time)
    const isBehind = time - next > furthestBehind + this.#together
    this.#heardSlot = isBehind ? time - Math.max(0, this.#together - 1) : next
    this.#together = Math.max(0, this.#together - 1)
    this.#leastBehind = Math.min(this.#leastBehind, time - this.#heardSlot)
    if (++this.#heard === window) {
      this.#heardSlot += this.#leastBehind
      this.#heard = 0
      this.#leastBehind = window
    }
    const at = this.#heardSlot % kept
    return this.#slots[at] === this.#heardSlot ? this.#frames[at] : undefined
  }
}

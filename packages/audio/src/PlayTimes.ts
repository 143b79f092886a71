import { frameMs } from "@svc/providers/Audio"

/** Frames that are kept: 5.12 s. */
const kept = 256

/** How far ahead of one frame each 20 ms a frame may come and still count as being on time. */
const jitterMs = 2 * frameMs

/**
 * When the peer can have played each frame that was sent: at the earliest when it was sent, and 20 ms after the frame
 * before it where several came at once. A frame counts as played when it begins. Allocates nothing per frame.
 */
export class PlayTimes {
  readonly #positions = new Float64Array(kept)
  readonly #times = new Float64Array(kept)
  #count = 0
  /** Position before the frames that are kept. */
  #before = 0
  #latest = Number.NEGATIVE_INFINITY

  /** When the latest frame can have been played, without jitter. */
  get latest(): number {
    return this.#latest
  }

  /** A frame that ends at `position` was sent at `now`, in milliseconds. Returns when it can have been played. */
  add(position: number, now: number): number {
    const slot = this.#count % kept
    if (this.#count >= kept) this.#before = this.#positions[slot] ?? 0
    this.#latest = Math.max(now, this.#latest + frameMs)
    this.#positions[slot] = position
    const time = this.#latest - now > jitterMs ? this.#latest : now
    this.#times[slot] = time
    this.#count++
    return time
  }

  /** The position until which the peer can have played at `time`. Frames older than those kept count as played. */
  positionAt(time: number): number {
    const first = Math.max(0, this.#count - kept)
    for (let n = this.#count - 1; n >= first; n--) {
      if ((this.#times[n % kept] ?? 0) <= time) return this.#positions[n % kept] ?? 0
    }
    return this.#before
  }

  /** When the peer can have played until `position`; of a frame older than those kept, the time of the oldest. */
  timeAt(position: number): number {
    const first = Math.max(0, this.#count - kept)
    let time = this.#times[(this.#count - 1) % kept] ?? 0
    for (let n = this.#count - 1; n >= first && (this.#positions[n % kept] ?? 0) >= position; n--) {
      time = this.#times[n % kept] ?? 0
    }
    return time
  }

  /** The peer dropped what it had not played: the next frame can be played when it is sent. */
  clear(): void {
    this.#latest = Number.NEGATIVE_INFINITY
  }
}

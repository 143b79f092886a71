/** What is kept, in ms: the longest comparison and the longest delay of an echo, and more. */
const keptMs = 1300
const frameMs = 20
/** What is heard may come so much later than its time says, in ms: on this time line it is later by this, and so is an echo. */
export const heardLateMs = 100
/** By how many frames a frame may be earlier or later than its number says: times have a little jitter. */
const tolerance = 1

/** Numbers frames of 20 ms by their time, one after the other as long as the times allow it. */
class FrameSlots {
  #slot = Number.NEGATIVE_INFINITY

  /** The number of the frame that begins at `time`, in ms. */
  next(time: number): number {
    const next = this.#slot + 1
    const isOnTime = Math.abs(time / frameMs - next - 0.5) <= tolerance
    this.#slot = isOnTime ? next : Math.floor(time / frameMs)
    return this.#slot
  }
}

/** What was heard and what was sent until the position `end`. */
export type SoundsUntil = Pick<SoundHistory, "end" | "heard" | "mask" | "samplesPerMs" | "sent">

/** What was heard and what was sent, sample by sample on one time line: the last 1.3 s at least. */
export class SoundHistory {
  readonly samplesPerMs: number
  /** In rings. The sample at position `p` is at `p & mask`. */
  readonly heard: Int16Array
  readonly sent: Int16Array
  readonly mask: number
  /** The position after the last frame that was heard. What was sent is known, or silence, until there at least. */
  end = 0
  readonly #heardSlots = new FrameSlots()
  readonly #sentSlots = new FrameSlots()
  #sentEnd = 0

  /** `sampleRate` in Hz, a multiple of 1000. */
  constructor(sampleRate: number) {
    this.samplesPerMs = sampleRate / 1000
    const length = 2 ** Math.ceil(Math.log2(keptMs * this.samplesPerMs))
    this.heard = new Int16Array(length)
    this.sent = new Int16Array(length)
    this.mask = length - 1
  }

  /** Takes a frame that was sent at `time`, in ms. */
  putSent(frame: Int16Array, time: number): void {
    const from = this.#sentSlots.next(time) * frame.length
    this.#silence(this.sent, this.#sentEnd, from)
    this.#write(this.sent, frame, from)
    this.#sentEnd = Math.max(this.#sentEnd, from + frame.length)
  }

  /** Takes a frame that was heard from `time` on. */
  putHeard(frame: Int16Array, time: number): void {
    const from = this.#heardSlots.next(time + heardLateMs) * frame.length
    this.#silence(this.heard, this.end, from)
    this.#write(this.heard, frame, from)
    this.end = from + frame.length
    this.#silence(this.sent, this.#sentEnd, this.end)
    this.#sentEnd = Math.max(this.#sentEnd, this.end)
  }

  /** Copies the last samples that were heard. */
  copyHeard(to: Int16Array): void {
    const at = (this.end - to.length) & this.mask
    const beforeEnd = this.heard.length - at
    if (beforeEnd >= to.length) {
      to.set(this.heard.subarray(at, at + to.length))
      return
    }
    to.set(this.heard.subarray(at))
    to.set(this.heard.subarray(0, to.length - beforeEnd), beforeEnd)
  }

  #write(ring: Int16Array, frame: Int16Array, from: number): void {
    const at = from & this.mask
    const beforeEnd = ring.length - at
    if (frame.length <= beforeEnd) {
      ring.set(frame, at)
      return
    }
    ring.set(frame.subarray(0, beforeEnd), at)
    ring.set(frame.subarray(beforeEnd), 0)
  }

  #silence(ring: Int16Array, from: number, to: number): void {
    const first = Math.max(from, to - ring.length)
    if (first >= to) return
    const at = first & this.mask
    const end = at + to - first
    ring.fill(0, at, Math.min(end, ring.length))
    if (end > ring.length) ring.fill(0, 0, end - ring.length)
  }
}

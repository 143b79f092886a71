import { frameMs } from "@svc/providers/Audio"

/**
 * The frames that were sent and whose time has not come. A leg that takes audio ahead of time gets half of it in each
 * message, so that it still has the other half when the next message comes. Other legs get each frame at its time.
 */
export class SentAhead {
  readonly #most: number
  readonly #messageFrames: number
  readonly #bytes: Uint8Array
  readonly #frames: ReadonlyArray<Uint8Array>
  /** The frames from `#first` on were sent; those from `#sent` on belong to the next message, which ends at `#end`. */
  #first = 0
  #sent = 0
  #end = 0

  /** `aheadMs`: how much audio the leg takes ahead of time; 0: none. */
  constructor(frameBytes: number, aheadMs: number) {
    this.#most = Math.max(1, Math.floor(aheadMs / frameMs))
    this.#messageFrames = Math.ceil(this.#most / 2)
    this.#bytes = new Uint8Array(this.#most * frameBytes)
    this.#frames = Array.from({ length: this.#most }, (_, n) =>
      this.#bytes.subarray(n * frameBytes, (n + 1) * frameBytes)
    )
  }

  /** Frames whose time has not come. */
  get count(): number {
    return this.#sent - this.#first
  }

  /** Begins the next message. False: none is due. */
  begin(): boolean {
    if (this.count > this.#most - this.#messageFrames) return false
    if (this.#first > 0) {
      const { byteOffset: from, length } = this.#frames[this.#first] ?? this.#bytes
      this.#bytes.copyWithin(0, from, from + this.count * length)
      this.#sent = this.count
      this.#first = 0
    }
    this.#end = this.#sent
    return true
  }

  /** Where the next frame of the message is written; undefined: the message is full. */
  get room(): Uint8Array | undefined {
    return this.#frames[this.#end]
  }

  /** The frame that was written belongs to the message. */
  add(): void {
    this.#end++
  }

  /** The message, whose frames now count as sent; undefined: it is empty. */
  take(): Uint8Array | undefined {
    const frame = this.#frames[this.#sent]
    const frames = this.#end - this.#sent
    if (frame === undefined || frames === 0) return undefined
    this.#sent = this.#end
    return frames === 1 ? frame : this.#bytes.subarray(frame.byteOffset, frame.byteOffset + frames * frame.length)
  }

  /** The frame whose time has come, valid until the next message; undefined: none was sent. */
  next(): Uint8Array | undefined {
    return this.#first < this.#sent ? this.#frames[this.#first++] : undefined
  }

  /** The leg drops what was sent. */
  clear(): void {
    this.#first = 0
    this.#sent = 0
    this.#end = 0
  }
}

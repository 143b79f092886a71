import type { Codec } from "@svc/audio/Codec"
import { JitterBuffer } from "@svc/audio/JitterBuffer"
import { type AudioFormat, frameBytes, frameMs } from "@svc/providers/Audio"
import type { LineQuality } from "@svc/providers/Telephony"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** A tick that is later than this after the one before, in ms, shows that the process was too busy to read the network. */
const stallMs = 45

/** What waited during a stall has been read once more than this many frames in a row came no faster than every 20 ms. */
const mostSteady = 2

/** The next tick takes audio that has waited for so many ms: what follows is late, or does not come. */
const longestWait = 30

/** The first half of a pair, which waits for the second. See {@link ReceivePath}. */
interface Waiting {
  readonly bytes: Uint8Array
  length: number
  sequence: number | undefined
  timestamp: number | undefined
  /** When it arrived, in the time that counts; undefined: nothing waits. */
  at: number | undefined
}

/** Gets a copy of the caller's audio. See `MediaTap`. */
export type ReceivedTap = (bytes: Uint8Array, at: number, isSilence: boolean) => void

/**
 * The caller's audio, from what a leg delivers to frames without gaps. The wheel ticks it while the leg delivers audio,
 * and for some seconds after, so that missing packets are concealed and a line that stops becomes silence. The time in
 * which the process was too busy to read the network does not count: what waited there is neither lost nor late.
 *
 * When many calls are heard, most of the time goes into fetching the state of one call after the other from memory. Then
 * frames are taken in pairs: the first half of a pair is heard some 20 ms later, with its own time of arrival. See
 * docs/decisions/0033-two-frames-at-a-time.md.
 */
export class ReceivePath implements FrameSource {
  readonly isInbound = true
  private readonly codec: Codec
  private readonly buffer: JitterBuffer
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly onFrame: (frame: Int16Array, at: number, late: number) => void
  private readonly inPairs: boolean
  private readonly bytes: Uint8Array
  private readonly waiting: Waiting
  private tap: ReceivedTap | undefined
  /** The last tick took nothing, because frames are taken in pairs. */
  private leftOut = false
  /** How much later than it came the frame is heard that is passed on now, in ms. */
  private late = 0
  private joined = false
  private stopped = false
  /** When the wheel last ticked, less the time that does not count since then. */
  private ticked = 0
  /** Time that did not count until now. */
  private stalled = 0
  /** For how long audio may have waited that is read now, in ms, and how many frames in a row have come no faster. */
  private unread = 0
  private steadyFrames = 0
  /** When the frame that was passed on last ended. */
  private passedEnd = 0

  constructor(options: {
    readonly format: AudioFormat
    readonly codec: Codec
    readonly wheel: FrameWheel
    readonly now: () => number
    /**
     * `at`: when its first sample arrived, or would have, with the least delay. `late`: for how many ms it waited for the
     * other half of its pair.
     */
    readonly onFrame: (frame: Int16Array, at: number, late: number) => void
    /** False: no frame ever waits for the next one. */
    readonly inPairs?: boolean
  }) {
    this.codec = options.codec
    this.wheel = options.wheel
    this.now = options.now
    this.onFrame = options.onFrame
    this.inPairs = options.inPairs ?? true
    this.bytes = new Uint8Array(frameBytes(options.format))
    this.waiting = {
      bytes: new Uint8Array(frameBytes(options.format)),
      length: 0,
      sequence: undefined,
      timestamp: undefined,
      at: undefined
    }
    this.buffer = new JitterBuffer({
      sampleRate: options.format.sampleRate,
      codec: options.codec,
      onFrame: (frame, at, isSilence) => this.pass(frame, at, isSilence)
    })
  }

  record(tap: ReceivedTap): void {
    this.tap = tap
  }

  /** Takes audio, any number of bytes; with both numbers it is a packet. */
  receive(bytes: Uint8Array, sequence: number | undefined, timestamp: number | undefined): void {
    if (this.stopped) return
    const time = this.now()
    if (!this.joined) this.ticked = time
    const now = this.clock(time)
    const { waiting } = this
    if (this.joined && this.hearsInPairs && waiting.at === undefined && bytes.length <= waiting.bytes.length) {
      waiting.bytes.set(bytes)
      waiting.length = bytes.length
      waiting.sequence = sequence
      waiting.timestamp = timestamp
      waiting.at = now
    } else {
      this.takeWaiting()
      this.take(bytes, sequence, timestamp, now)
      // A frame may have ended the call.
      if (!this.joined && !this.stopped) {
        this.joined = true
        this.wheel.join(this, time)
      }
    }
    // Not before: the bytes may be in a buffer of the leg's plugin that is used again when it sends.
    this.wheel.sendLate(this.now)
  }

  private get hearsInPairs(): boolean {
    return this.inPairs && this.wheel.hearsInPairs
  }

  private take(
    bytes: Uint8Array,
    sequence: number | undefined,
    timestamp: number | undefined,
    arrivedAt: number
  ): void {
    if (sequence === undefined || timestamp === undefined) this.buffer.push(bytes, arrivedAt)
    else this.buffer.pushPacket(bytes, sequence, timestamp, arrivedAt)
  }

  /** Takes what waits for the other half of its pair. */
  takeWaiting(): void {
    const { at, bytes, length, sequence, timestamp } = this.waiting
    if (at === undefined) return
    this.waiting.at = undefined
    // At most until the second tick after it; what is more is a stall, whose time does not count.
    this.late = Math.min(longestWait + frameMs, Math.max(0, this.now() - this.stalled - at))
    this.take(length === bytes.length ? bytes : bytes.subarray(0, length), sequence, timestamp, at)
    this.late = 0
  }

  /** Called by the wheel. In a round of ticks, which may take long, no time passes: the network is not read meanwhile. */
  tick(time: number): boolean {
    const now = this.clock(time)
    this.ticked = time
    const { at } = this.waiting
    // Half a pair waits for the other half; of silence two frames are taken by every second tick.
    this.leftOut = at === undefined ? this.hearsInPairs && !this.leftOut : now - at < longestWait
    if (this.leftOut) return this.joined
    this.takeWaiting()
    this.joined = !this.stopped && this.buffer.tick(now)
    return this.joined
  }

  stop(): void {
    this.stopped = true
    this.wheel.leave(this)
  }

  /** Undefined: the leg has delivered no packets. */
  get quality(): LineQuality | undefined {
    return this.buffer.quality
  }

  /** The time that counts, of the ticker's. */
  private clock(now: number): number {
    if (now - this.ticked > stallMs) {
      // It came before the stall.
      this.takeWaiting()
      const lost = now - this.ticked - frameMs
      this.ticked += lost
      this.stalled += lost
      this.unread += lost + frameMs
      this.steadyFrames = 0
      this.buffer.paused(lost)
    }
    return now - this.stalled
  }

  private pass(frame: Int16Array, at: number, isSilence: boolean): void {
    if (this.stopped) return
    const began = this.beginOf(at + this.stalled)
    if (this.tap !== undefined) {
      this.codec.encode(frame, 0, frame.length, this.bytes, 0)
      this.tap(this.bytes, began, isSilence)
    }
    this.onFrame(frame, began, this.late)
  }

  /**
   * When a frame began. `at`: when it would have begun if it had come when it was read. What waited during a stall had come
   * one frame after the other, so it follows the frame before it.
   */
  private beginOf(at: number): number {
    const waited = Math.max(0, at - this.passedEnd)
    if (this.unread > 0) {
      this.steadyFrames = waited < this.unread ? 0 : this.steadyFrames + 1
      this.unread = this.steadyFrames > mostSteady ? 0 : Math.min(this.unread, waited)
    }
    const began = waited > 0 && waited <= this.unread ? this.passedEnd : at
    this.passedEnd = began + frameMs
    return began
  }
}

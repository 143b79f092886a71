import type { Codec } from "@svc/audio/Codec"
import { JitterBuffer } from "@svc/audio/JitterBuffer"
import { type AudioFormat, frameBytes, frameMs } from "@svc/providers/Audio"
import type { LineQuality } from "@svc/providers/Telephony"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** A tick that is later than this after the one before, in ms, shows that the process was too busy to read the network. */
const stallMs = 45

/** A tick takes audio that has waited for so many ms: the next one is late, or does not come. */
const longestHeld = 30

/** The audio that waits for the next one. See {@link ReceivePath}. */
interface Held {
  readonly bytes: Uint8Array
  length: number
  sequence: number | undefined
  timestamp: number | undefined
  /** When it arrived, in the time that counts; undefined: none waits. */
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
 * frames are taken two at a time: each is heard some 20 ms later, its time of arrival is the same. See
 * docs/decisions/0033-two-frames-at-a-time.md.
 */
export class ReceivePath implements FrameSource {
  readonly isInbound = true
  private readonly codec: Codec
  private readonly buffer: JitterBuffer
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly onFrame: (frame: Int16Array, at: number) => void
  private readonly bytes: Uint8Array
  private readonly held: Held
  private tap: ReceivedTap | undefined
  /** The last tick took nothing, because frames are taken two at a time. */
  private leftOut = false
  private joined = false
  private stopped = false
  /** When the wheel last ticked, less the time that does not count since then. */
  private ticked = 0
  /** Time that did not count until now. */
  private stalled = 0

  constructor(options: {
    readonly format: AudioFormat
    readonly codec: Codec
    readonly wheel: FrameWheel
    readonly now: () => number
    /** `at`: when its first sample arrived, or would have, with the least delay. */
    readonly onFrame: (frame: Int16Array, at: number) => void
  }) {
    this.codec = options.codec
    this.wheel = options.wheel
    this.now = options.now
    this.onFrame = options.onFrame
    this.bytes = new Uint8Array(frameBytes(options.format))
    this.held = {
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
    const { held } = this
    if (this.joined && this.wheel.isCrowded && held.at === undefined && bytes.length <= held.bytes.length) {
      held.bytes.set(bytes)
      held.length = bytes.length
      held.sequence = sequence
      held.timestamp = timestamp
      held.at = now
    } else {
      this.takeHeld()
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

  private take(
    bytes: Uint8Array,
    sequence: number | undefined,
    timestamp: number | undefined,
    arrivedAt: number
  ): void {
    if (sequence === undefined || timestamp === undefined) this.buffer.push(bytes, arrivedAt)
    else this.buffer.pushPacket(bytes, sequence, timestamp, arrivedAt)
  }

  /** Takes what waits for the next audio. */
  takeHeld(): void {
    const { at, bytes, length, sequence, timestamp } = this.held
    if (at === undefined) return
    this.held.at = undefined
    this.take(length === bytes.length ? bytes : bytes.subarray(0, length), sequence, timestamp, at)
  }

  /** Called by the wheel. In a round of ticks, which may take long, no time passes: the network is not read meanwhile. */
  tick(time: number): boolean {
    const now = this.clock(time)
    this.ticked = time
    const { at } = this.held
    // Beside what is held nothing is due; beside silence every second tick.
    this.leftOut = at === undefined ? this.wheel.isCrowded && !this.leftOut : now - at < longestHeld
    if (this.leftOut) return this.joined
    this.takeHeld()
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
      this.takeHeld()
      const lost = now - this.ticked - frameMs
      this.ticked += lost
      this.stalled += lost
      this.buffer.paused(lost)
    }
    return now - this.stalled
  }

  private pass(frame: Int16Array, at: number, isSilence: boolean): void {
    if (this.stopped) return
    if (this.tap !== undefined) {
      this.codec.encode(frame, 0, frame.length, this.bytes, 0)
      this.tap(this.bytes, at + this.stalled, isSilence)
    }
    this.onFrame(frame, at + this.stalled)
  }
}

import type { Codec } from "@svc/audio/Codec"
import { JitterBuffer } from "@svc/audio/JitterBuffer"
import { type AudioFormat, frameBytes, frameMs } from "@svc/providers/Audio"
import type { LineQuality } from "@svc/providers/Telephony"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** A tick that is later than this after the one before, in ms, shows that the process was too busy to read the network. */
const stallMs = 45

/** Gets a copy of the caller's audio. See `MediaTap`. */
export type ReceivedTap = (bytes: Uint8Array, at: number, isSilence: boolean) => void

/**
 * The caller's audio, from what a leg delivers to frames without gaps. The wheel ticks it while the leg delivers audio,
 * and for some seconds after, so that missing packets are concealed and a line that stops becomes silence. The time in
 * which the process was too busy to read the network does not count: what waited there is neither lost nor late.
 */
export class ReceivePath implements FrameSource {
  readonly isInbound = true
  private readonly codec: Codec
  private readonly buffer: JitterBuffer
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly onFrame: (frame: Int16Array, at: number) => void
  private readonly bytes: Uint8Array
  private tap: ReceivedTap | undefined
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
    this.take(bytes, sequence, timestamp)
    // Not before: the bytes may be in a buffer of the leg's plugin that is used again when it sends.
    this.wheel.sendLate(this.now)
  }

  private take(bytes: Uint8Array, sequence: number | undefined, timestamp: number | undefined): void {
    const time = this.now()
    if (!this.joined) this.ticked = time
    const now = this.clock(time)
    if (sequence === undefined || timestamp === undefined) this.buffer.push(bytes, now)
    else this.buffer.pushPacket(bytes, sequence, timestamp, now)
    // A frame may have ended the call.
    if (this.joined || this.stopped) return
    this.joined = true
    this.wheel.join(this, time)
  }

  /** Called by the wheel. In a round of ticks, which may take long, no time passes: the network is not read meanwhile. */
  tick(time: number): boolean {
    const now = this.clock(time)
    this.ticked = time
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

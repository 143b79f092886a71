import { type Codec, codecOf } from "@svc/audio/Codec"
import { Resampler } from "@svc/audio/Resampler"
import { type AudioFormat, frameBytes, frameSamples } from "@svc/providers/Audio"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** Audio that waits before the first frame of a stretch is sent, in ms: it absorbs the jitter with which audio comes. */
const startDelayMs = 40
/** Audio that may wait, in ms. Of more, the oldest is dropped until {@link startDelayMs} are left: the clocks of two legs differ. */
const mostWaitingMs = 400

/** Sends audio that comes at any speed and rate to a leg: one frame of its format every 20 ms, as long as there is audio. */
export class PacedSender implements FrameSource {
  private readonly codec: Codec
  private readonly rate: number
  private readonly waiting: Int16Array
  private readonly startDelay: number
  private readonly frame: Int16Array
  private readonly bytes: Uint8Array
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly send: (frame: Uint8Array) => void
  private resampler: { readonly from: number; readonly stream: Resampler } | undefined
  /** Samples that wait, and where the first one is: a ring. */
  private count = 0
  private first = 0
  private isSending = false
  private isSuspended = false
  private isStopped = false

  constructor(options: {
    readonly format: AudioFormat
    readonly wheel: FrameWheel
    readonly now: () => number
    readonly send: (frame: Uint8Array) => void
  }) {
    const perMs = options.format.sampleRate / 1000
    this.codec = codecOf(options.format)
    this.rate = options.format.sampleRate
    this.waiting = new Int16Array(mostWaitingMs * perMs)
    this.startDelay = startDelayMs * perMs
    this.frame = new Int16Array(frameSamples(options.format))
    this.bytes = new Uint8Array(frameBytes(options.format))
    this.wheel = options.wheel
    this.now = options.now
    this.send = options.send
  }

  /** Takes audio, any number of samples. */
  push(audio: Int16Array, sampleRate: number): void {
    if (this.isStopped || this.isSuspended) return
    if (sampleRate === this.rate) this.append(audio)
    else {
      if (this.resampler?.from !== sampleRate)
        this.resampler = { from: sampleRate, stream: new Resampler(sampleRate, this.rate) }
      this.append(this.resampler.stream.push(audio))
    }
    if (this.isSending || this.count < this.startDelay) return
    this.isSending = true
    this.wheel.join(this, this.now())
  }

  private append(audio: Int16Array): void {
    const { waiting } = this
    const kept = audio.length > waiting.length ? audio.subarray(-waiting.length) : audio
    const over = this.count + kept.length - waiting.length
    if (over > 0) {
      const dropped = Math.min(this.count, Math.max(over, this.count - this.startDelay))
      this.first = (this.first + dropped) % waiting.length
      this.count -= dropped
    }
    const at = (this.first + this.count) % waiting.length
    const untilEnd = Math.min(kept.length, waiting.length - at)
    waiting.set(kept.subarray(0, untilEnd), at)
    waiting.set(kept.subarray(untilEnd), 0)
    this.count += kept.length
  }

  /** Called by the wheel. */
  tick(): boolean {
    const { frame, waiting } = this
    if (this.isStopped || this.isSuspended || this.count < frame.length) {
      this.isSending = false
      return false
    }
    const untilEnd = Math.min(frame.length, waiting.length - this.first)
    frame.set(waiting.subarray(this.first, this.first + untilEnd))
    frame.set(waiting.subarray(0, frame.length - untilEnd), untilEnd)
    this.first = (this.first + frame.length) % waiting.length
    this.count -= frame.length
    this.codec.encode(frame, 0, frame.length, this.bytes, 0)
    this.send(this.bytes)
    return true
  }

  /** The network of the leg carries no audio for now: what waits and what comes is dropped. */
  suspend(on: boolean): void {
    this.isSuspended = on
    if (on) this.count = 0
  }

  stop(): void {
    this.isStopped = true
    this.wheel.leave(this)
  }
}

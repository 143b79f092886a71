import { type Codec, codecOf } from "@svc/audio/Codec"
import { Playout } from "@svc/audio/Playout"
import { type AudioFormat, frameBytes, frameSamples } from "@svc/providers/Audio"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"

/** Frames after an end of turn in which speech reported by the detector belongs to the finished turn: 300 ms. */
const hangoverFrames = 15

/** Called synchronously from the media path. */
export interface MediaListener {
  /** One 20 ms frame of the caller; valid only during the call. */
  readonly onFrame: (frame: Int16Array) => void
  /** The caller started or stopped speaking `late` milliseconds ago. */
  readonly onVoiceActivity: (on: boolean, late: number) => void
  readonly onStarted: (id: string) => void
  readonly onPlayed: (id: string) => void
}

/** Gets a copy of all audio, in the leg's format; the arrays are valid only during the call. */
export interface MediaTap {
  readonly received: (bytes: Uint8Array) => void
  readonly sent: (frame: Uint8Array) => void
}

/** The audio of one call in both directions, without Effect or queues. */
export class CallMedia implements FrameSource {
  private readonly codec: Codec
  private readonly playout: Playout
  private readonly frame: Uint8Array
  private readonly incoming: Int16Array
  private incomingCount = 0
  private isSpeaking = false
  /** Frames left in which the detector's speech belongs to the finished turn. */
  private hangover = 0
  private stopped = false
  /** PCM that did not fit into the playout buffer, because the provider does not wait. */
  private overflow: Array<Int16Array> = []
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly send: (frame: Uint8Array) => void
  private readonly detector: VoiceActivityDetector
  private readonly listener: MediaListener
  private tap: MediaTap | undefined

  constructor(options: {
    readonly format: AudioFormat
    readonly wheel: FrameWheel
    readonly now: () => number
    readonly send: (frame: Uint8Array) => void
    readonly detector: VoiceActivityDetector
    readonly listener: MediaListener
  }) {
    this.codec = codecOf(options.format)
    this.frame = new Uint8Array(frameBytes(options.format))
    this.incoming = new Int16Array(frameSamples(options.format))
    this.wheel = options.wheel
    this.now = options.now
    this.send = options.send
    this.detector = options.detector
    this.listener = options.listener
    this.playout = new Playout({
      bytesPerSecond: options.format.sampleRate * this.codec.bytesPerSample,
      silence: this.codec.silence,
      listener: options.listener
    })
  }

  /** From now on, all audio is copied to `tap`. */
  record(tap: MediaTap): void {
    this.tap = tap
  }

  /** Takes audio of the caller, any number of bytes. */
  receive(bytes: Uint8Array): void {
    if (this.stopped) return
    this.tap?.received(bytes)
    const size = this.codec.bytesPerSample
    const samples = Math.floor(bytes.length / size)
    let done = 0
    while (done < samples) {
      const count = Math.min(samples - done, this.incoming.length - this.incomingCount)
      this.codec.decode(bytes, done * size, count, this.incoming, this.incomingCount)
      done += count
      this.incomingCount += count
      if (this.incomingCount < this.incoming.length) return
      this.incomingCount = 0
      this.setSpeaking(this.isSpeech(this.incoming))
      this.listener.onFrame(this.incoming)
    }
  }

  /**
   * Speech-to-text reported the end of a turn: the caller counts as silent from now on. A leg that sends no frames
   * during silence never lets the detector see it.
   */
  endOfTurn(): void {
    this.hangover = hangoverFrames
    this.setSpeaking(false)
  }

  private isSpeech(frame: Int16Array): boolean {
    const speech = this.detector.push(frame) === "speech"
    if (!speech) this.hangover = 0
    else if (this.hangover > 0) {
      this.hangover--
      return false
    }
    return speech
  }

  private setSpeaking(on: boolean): void {
    if (on === this.isSpeaking) return
    this.isSpeaking = on
    this.listener.onVoiceActivity(on, this.detector.lasted?.(on ? "speech" : "silence") ?? 0)
  }

  begin(id: string, text: string): void {
    this.playout.begin(id, text)
  }

  align(characters: number): void {
    const waiting = this.overflow.reduce((sum, pcm) => sum + pcm.length, 0)
    this.playout.align(characters, waiting * this.codec.bytesPerSample)
  }

  /** Ends the current utterance. Returns whether it had any audio. */
  end(): boolean {
    this.refillPlayout()
    const spoken = this.playout.end()
    if (!spoken || this.stopped) return spoken
    if (this.playout.pending) this.wheel.join(this, this.now())
    // Synthesis was so slow that its last frame has been sent already.
    else this.playout.progress()
    return spoken
  }

  /** Takes samples of the current utterance. False: wait for `onDrained` before writing more. */
  write(pcm: Int16Array): boolean {
    if (this.stopped) return true
    if (this.overflow.length > 0) this.overflow.push(pcm.slice())
    else this.put(pcm)
    this.wheel.join(this, this.now())
    return this.overflow.length === 0 && !this.playout.full
  }

  private put(pcm: Int16Array): void {
    const size = this.codec.bytesPerSample
    const count = Math.min(pcm.length, Math.floor(this.playout.room / size))
    this.playout.write(count * size, (target, offset, bytes, done) =>
      this.codec.encode(pcm, done / size, bytes / size, target, offset)
    )
    if (count < pcm.length) this.overflow.unshift(pcm.slice(count))
  }

  private refillPlayout(): void {
    while (this.overflow.length > 0 && this.playout.room >= this.frame.length) {
      const next = this.overflow.shift()
      if (next !== undefined) this.put(next)
    }
  }

  /** Whether audio is waiting to be sent. */
  get busy(): boolean {
    return this.playout.pending
  }

  get overflowing(): boolean {
    return this.overflow.length > 0
  }

  onDrained(callback: () => void): () => void {
    return this.playout.onDrained(callback)
  }

  /** Sends one frame; called by the wheel. */
  tick(): boolean {
    if (this.stopped || !this.playout.read(this.frame)) return false
    this.send(this.frame)
    this.tap?.sent(this.frame)
    if (this.overflow.length > 0) this.refillPlayout()
    this.playout.progress()
    return true
  }

  /** Stops the agent's speech at once: no frame is sent after this. */
  clear(): ReadonlyArray<{ readonly id: string; readonly played: string }> {
    this.overflow = []
    const cuts = this.playout.clear()
    this.wheel.leave(this)
    return cuts
  }

  stop(): void {
    this.stopped = true
    this.overflow = []
    this.wheel.leave(this)
  }
}

import { codecOf } from "@svc/audio/Codec"
import type { AudioFormat } from "@svc/providers/Audio"
import type { Mp3Stream } from "./Mp3Encoder.ts"
import { Track } from "./Track.ts"

/** Seconds that are held back, so that late frames can still be placed. */
const heldBack = 1
/** Milliseconds in which this process may be too busy to take what the caller said, without a gap in the recording. */
const longestStallMs = 2000

/** Both sides of a call between the media path and the encoder. Times are those of the media clock, in milliseconds. */
export class RecordedCall {
  private readonly caller: Track
  private readonly agent: Track
  private readonly sampleRate: number
  private readonly origin: number
  private stream: Mp3Stream | undefined
  /** Samples given to the encoder. */
  private given = 0
  /** When `handOver` was last called. Audio from before that time has been written since. */
  private checkedAt: number
  /** When the recording ended; undefined while it runs. */
  private endedAt: number | undefined

  constructor(format: AudioFormat, origin: number) {
    const codec = codecOf(format)
    const { bytesPerSample, silence } = codec
    const options = { sampleRate: format.sampleRate, sampleBytes: bytesPerSample, silence }
    // The caller's samples follow the clock of another machine.
    this.caller = new Track({ ...options, codec })
    this.agent = new Track(options)
    this.sampleRate = format.sampleRate
    this.origin = origin
    this.checkedAt = origin
  }

  /** Sets the encoder's stream; called once. */
  start(stream: Mp3Stream): void {
    this.stream = stream
  }

  private position(now: number): number {
    return Math.max(0, Math.round(((now - this.origin) * this.sampleRate) / 1000))
  }

  /** Takes a frame of the caller that began to arrive at `at`. `isSilence`: nothing was heard. */
  received(bytes: Uint8Array, at: number, isSilence: boolean): void {
    if (this.endedAt !== undefined) return
    if (isSilence) this.caller.fill(bytes, this.position(at))
    else this.caller.write(bytes, this.position(at))
  }

  /** Takes a frame of the agent that is played from `at` on. */
  sent(frame: Uint8Array, at: number): void {
    if (this.endedAt === undefined) this.agent.write(frame, this.position(at))
  }

  /** Gives the encoder every second that was complete at the previous call. Called often. */
  handOver(now: number): void {
    this.giveUntil(Math.max(this.checkedAt, now - longestStallMs))
    this.checkedAt = now
  }

  private giveUntil(now: number): void {
    while (this.endedAt === undefined && this.position(now) >= this.given + (1 + heldBack) * this.sampleRate) {
      const until = this.given + this.sampleRate
      this.given = until
      this.stream?.write(this.caller.take(until), this.agent.take(until))
    }
  }

  /** Ends the recording and gives the encoder the rest. */
  stop(now: number): void {
    if (this.endedAt !== undefined) return
    this.giveUntil(now)
    // The encoder may have failed during the call above, which ends the recording.
    if (this.endedAt !== undefined) return
    this.endedAt = now
    const until = Math.max(this.given, this.position(now))
    this.stream?.end(this.caller.take(until), this.agent.take(until))
  }

  /** Ends the recording with what the encoder has. */
  giveUp(): void {
    if (this.endedAt === undefined) this.endedAt = this.origin + (this.given / this.sampleRate) * 1000
    this.stream?.cancel()
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined
  }

  /** Length in seconds. */
  seconds(now: number): number {
    return Math.max(0, (this.endedAt ?? now) - this.origin) / 1000
  }
}

import { codecOf } from "@svc/audio/Codec"
import { type AudioFormat, frameSamples } from "@svc/providers/Audio"
import type { CallLeg } from "@svc/providers/Telephony"
import type { FrameSource, FrameWheel } from "./FrameWheel.ts"
import { PacedSender } from "./PacedSender.ts"

/** The ringing tone: 425 Hz, one second in five (ITU-T E.180, 4 and E.182). */
const toneHz = 425
const onFrames = 50
const periodFrames = 250
/** Its peak, of 32,768: about -20 dBm0 with its encoding. */
const peak = 3000

/**
 * What a caller hears while a second leg rings: the audio from before its answer where its network has that, a ringing tone
 * otherwise.
 */
export class Ringback implements FrameSource {
  private readonly sender: PacedSender
  private readonly wheel: FrameWheel
  private readonly now: () => number
  private readonly tone: Int16Array
  private readonly silence: Int16Array
  private readonly rate: number
  private frames = 0
  private isStopped = false

  constructor(leg: CallLeg, { now, wheel }: { readonly wheel: FrameWheel; readonly now: () => number }) {
    const { format } = leg
    this.wheel = wheel
    this.now = now
    this.rate = format.sampleRate
    this.sender = new PacedSender({ format, wheel, now, send: leg.send })
    // 425 Hz are 17 cycles in 40 ms, so every other frame begins with the phase of the first.
    const samples = frameSamples(format)
    this.tone = Int16Array.from({ length: 2 * samples }, (_, n) =>
      Math.round(peak * Math.sin((2 * Math.PI * toneHz * n) / format.sampleRate))
    )
    this.silence = new Int16Array(samples)
  }

  /** The other phone rings. */
  ring(): void {
    if (!this.isStopped) this.wheel.join(this, this.now())
  }

  /** Audio from before the answer, which takes the place of the tone. */
  play(payload: Uint8Array, format: AudioFormat): void {
    if (this.isStopped) return
    this.wheel.leave(this)
    const codec = codecOf(format)
    const pcm = new Int16Array(Math.floor(payload.length / codec.bytesPerSample))
    codec.decode(payload, 0, pcm.length, pcm, 0)
    this.sender.push(pcm, format.sampleRate)
  }

  /** Called by the wheel. */
  tick(): boolean {
    if (this.isStopped) return false
    const samples = this.silence.length
    const inPeriod = this.frames++ % periodFrames
    const from = (inPeriod % 2) * samples
    this.sender.push(inPeriod < onFrames ? this.tone.subarray(from, from + samples) : this.silence, this.rate)
    return true
  }

  stop(): void {
    this.isStopped = true
    this.wheel.leave(this)
    this.sender.stop()
  }
}

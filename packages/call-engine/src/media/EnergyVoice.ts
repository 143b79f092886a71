import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"

/**
 * The built-in voice activity detector: energy over a floor that follows the noise. Speech begins after 3 loud frames
 * (60 ms) and ends after 8 quiet ones (160 ms).
 */
const loudFrames = 3
const quietFrames = 8
/** Mean square of a level below which nothing is speech: about -44 dB of full scale. */
const minimum = 200 * 200
/** Speech is this much (in power) over the noise. */
const ratio = 8

export class EnergyVoice implements VoiceActivityDetector {
  private floor = minimum / ratio
  private loud = 0
  private quiet = 0
  private speech = false

  push(frame: Int16Array): "speech" | "silence" {
    let sum = 0
    for (let i = 0; i < frame.length; i++) {
      const x = frame[i] ?? 0
      sum += x * x
    }
    const energy = frame.length === 0 ? 0 : sum / frame.length
    const isLoud = energy > minimum && energy > this.floor * ratio
    if (!isLoud) this.floor += (energy - this.floor) * 0.05
    this.loud = isLoud ? this.loud + 1 : 0
    this.quiet = isLoud ? 0 : this.quiet + 1
    if (!this.speech && this.loud >= loudFrames) this.speech = true
    else if (this.speech && this.quiet >= quietFrames) this.speech = false
    return this.speech ? "speech" : "silence"
  }

  /** The line went silent without silent frames (silence suppression): counts as quiet from now on. */
  reset(): void {
    this.loud = 0
    this.quiet = 0
    this.speech = false
  }
}

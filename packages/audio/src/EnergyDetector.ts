import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"

/**
 * The built-in voice activity detector: energy above a floor that follows the noise. Speech starts after 3 loud frames
 * (60 ms) and ends after 8 quiet ones (160 ms).
 */
const loudFrames = 3
const quietFrames = 8
const frameMs = 20
/** Mean square below which a frame is not speech: about -44 dB of full scale. */
const minimum = 200 * 200
/** How far speech is above the noise, as a ratio of power. */
const ratio = 8
/** How fast the floor follows quiet frames, and loud ones: steady noise stops being speech after about 5 s. */
const followQuiet = 0.05
const followLoud = 0.0005

export class EnergyDetector implements VoiceActivityDetector {
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
    this.floor += (energy - this.floor) * (isLoud ? followLoud : followQuiet)
    this.loud = isLoud ? this.loud + 1 : 0
    this.quiet = isLoud ? 0 : this.quiet + 1
    if (!this.speech && this.loud >= loudFrames) this.speech = true
    else if (this.speech && this.quiet >= quietFrames) this.speech = false
    return this.speech ? "speech" : "silence"
  }

  lasted(what: "speech" | "silence"): number {
    return (what === "speech" ? this.loud : this.quiet) * frameMs
  }
}

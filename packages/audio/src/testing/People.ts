import type { Generator } from "./NoiseGenerators.ts"
import { gain, type Signal, sampleRate } from "./Signal.ts"

/** The same speech by a smaller or larger speaker: played `factor` times as fast. */
const played = (signal: Signal, factor: number): Signal =>
  Float32Array.from({ length: Math.floor(signal.length / factor) }, (_, i) => {
    const at = Math.floor(i * factor)
    const share = i * factor - at
    return (signal[at] ?? 0) * (1 - share) + (signal[at + 1] ?? 0) * share
  })

/** People who speak in a room. */
interface Gathering {
  readonly voices: number
  /** By how many dB each voice is weaker than the one before. */
  readonly step: number
  /** For how long they listen at most after they spoke, compared to what they said. */
  readonly listening: number
  /** Seconds until an echo of each of four walls: at least, and how much more. */
  readonly room: readonly [atLeast: number, more: number]
  /** What is left of an echo on its next way, and how loud the echoes of a wall are. */
  readonly echoes: number
  readonly reverberation: number
}

/** People in a room, some near and some far. */
export const people =
  ({ echoes, listening, reverberation, room, step, voices }: Gathering): Generator =>
  (count, random, speech) => {
    const dry = new Float32Array(count)
    for (let voice = 0; voice < voices; voice++) {
      const loudness = gain(-step * voice)
      const factor = 0.85 + 0.3 * random()
      let at = Math.floor(3 * random() * sampleRate)
      while (at < count) {
        const { signal } = speech[Math.floor(random() * speech.length)] ?? { signal: new Float32Array(sampleRate) }
        const said = played(signal, factor)
        for (let i = 0; i < said.length && at + i < count; i++)
          dry[at + i] = (dry[at + i] ?? 0) + loudness * (said[i] ?? 0)
        at += Math.ceil(said.length * (1 + listening * random()))
      }
    }
    // Four walls, each with its echo.
    const walls = Array.from({ length: 4 }, () => ({
      line: new Float32Array(Math.floor(sampleRate * (room[0] + room[1] * random()))),
      at: 0
    }))
    return dry.map((x) => {
      let sum = x
      for (const wall of walls) {
        const echo = wall.line[wall.at] ?? 0
        wall.line[wall.at] = x + echoes * echo
        wall.at = (wall.at + 1) % wall.line.length
        sum += reverberation * echo
      }
      return sum
    })
  }

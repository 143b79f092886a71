import type { Generator } from "./NoiseGenerators.ts"
import { gaussian, sampleRate } from "./Signal.ts"

/** A resonator: what a click of white noise sounds like in something of `hertz` that rings for `ringing` seconds. */
export const resonator = (hertz: number, ringing: number): ((x: number) => number) => {
  const radius = Math.exp(-1 / (ringing * sampleRate))
  const a1 = 2 * radius * Math.cos((2 * Math.PI * hertz) / sampleRate)
  const a2 = -radius * radius
  let [y1, y2] = [0, 0]
  return (x) => {
    const y = x + a1 * y1 + a2 * y2
    y2 = y1
    y1 = y
    return y
  }
}

/** Something that is struck. */
interface Struck {
  /** What rings in it: a frequency in Hz, how much higher it may be, and for how many seconds it rings. */
  readonly rings: ReadonlyArray<readonly [hertz: number, more: number, seconds: number]>
  /** Seconds from blow to blow, how many blows there are at least, and less than how many more. */
  readonly every: number
  readonly atLeast: number
  readonly more: number
  /** Seconds from the first blow of one series to that of the next: at least, and how much more. */
  readonly pause: readonly [atLeast: number, more: number]
}

/** Series of blows of 3 ms on something that rings. */
export const blows =
  ({ atLeast, every, more, pause, rings }: Struck): Generator =>
  (count, random) => {
    const all = Float32Array.from({ length: count }, () => 0.003 * gaussian(random))
    for (let at = 0; at < count; at += Math.ceil(sampleRate * (pause[0] + pause[1] * random()))) {
      const struck = rings.map(([hertz, higher, seconds]) =>
        resonator(higher === 0 ? hertz : hertz + higher * random(), seconds)
      )
      const series = atLeast + Math.floor(more * random())
      for (let i = 0; i < sampleRate * every * series && at + i < count; i++) {
        const hit = i % Math.floor(sampleRate * every) < 24 ? gaussian(random) : 0
        all[at + i] = (all[at + i] ?? 0) + struck.reduce((sum, ring) => sum + ring(hit), 0)
      }
    }
    return all
  }

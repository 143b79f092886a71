import { gain, gaussian, type Random, rms, type Signal, sampleRate } from "./Signal.ts"
import type { Utterance } from "./SpeechTrack.ts"

/** Makes `count` samples of a noise. `speech` is what the voices of others say. */
export type Generator = (count: number, random: Random, speech: ReadonlyArray<Utterance>) => Signal

export const whiteNoise: Generator = (count, random) => Float32Array.from({ length: count }, () => gaussian(random))

/** White noise through three first-order filters (P. Kellet's approximation of 3 dB per octave). */
export const pinkNoise: Generator = (count, random) => {
  let [a, b, c] = [0, 0, 0]
  return Float32Array.from({ length: count }, () => {
    const white = gaussian(random)
    a = 0.99765 * a + white * 0.099046
    b = 0.963 * b + white * 0.2965164
    c = 0.57 * c + white * 1.0526913
    return a + b + c + white * 0.1848
  })
}

/** Air: low-passed noise whose level rises and falls within seconds. */
export const fan: Generator = (count, random) => {
  let [low, slow] = [0, 0]
  return Float32Array.from({ length: count }, (_, i) => {
    low += 0.12 * (gaussian(random) - low)
    slow += 0.0003 * (gaussian(random) - slow)
    return (low + 0.02 * gaussian(random)) * gain(1.5 * Math.sin((2 * Math.PI * i) / (3.1 * sampleRate)) + 20 * slow)
  })
}

export const voices =
  (count: number): Generator =>
  (length, random, speech) => {
    const all = new Float32Array(length)
    for (let voice = 0; voice < count; voice++) {
      let at = -Math.floor(random() * 2 * sampleRate)
      while (at < length) {
        const { signal } = speech[Math.floor(random() * speech.length)] ?? { signal: new Float32Array(sampleRate) }
        const factor = gain(-6 * random())
        for (let i = Math.max(0, -at); i < signal.length && at + i < length; i++) {
          all[at + i] = (all[at + i] ?? 0) + (signal[i] ?? 0) * factor
        }
        at += signal.length + Math.floor(random() * 0.3 * sampleRate)
      }
    }
    return all
  }

/** Harmonics of a mains frequency in Hz. */
export const hum =
  (mains: number, harmonics: number): Generator =>
  (count, random) => {
    const phases = Array.from({ length: harmonics }, () => 2 * Math.PI * random())
    return Float32Array.from({ length: count }, (_, i) =>
      phases.reduce(
        (sum, phase, n) =>
          sum +
          (Math.sin((2 * Math.PI * mains * (n + 1) * i) / sampleRate + phase) / (n + 1)) * (n % 2 === 0 ? 1 : 0.6),
        0.02 * gaussian(random)
      )
    )
  }

/** Strokes of two clicks each. `between`: the shortest time in seconds, and how much longer at most. */
export const strokes =
  (between: readonly [number, number], hertz: readonly [number, number]): Generator =>
  (count, random) => {
    const all = Float32Array.from({ length: count }, () => 0.01 * gaussian(random))
    const click = (at: number, factor: number) => {
      const frequency = hertz[0] + hertz[1] * random()
      const decay = 50 + Math.floor(90 * random())
      for (let i = 0; i < 3 * decay && at + i < count; i++) {
        const tone = Math.sin((2 * Math.PI * frequency * i) / sampleRate)
        all[at + i] = (all[at + i] ?? 0) + factor * Math.exp(-i / decay) * (gaussian(random) + tone)
      }
    }
    let at = 0
    while (at < count) {
      click(at, 1)
      click(at + 600 + Math.floor(300 * random()), 0.5)
      at += Math.floor(sampleRate * (between[0] + between[1] * random() + (random() < 0.05 ? 1 : 0)))
    }
    return all
  }

interface Tune {
  /** Semitones above the root of each chord's notes. */
  readonly chords: ReadonlyArray<ReadonlyArray<number>>
  readonly root: number
  /** Seconds per beat, and until a note has faded to a third. */
  readonly beat: number
  readonly decay: number
  readonly harmonics: ReadonlyArray<number>
}

/** Chords, a tune and a drum. */
export const music =
  ({ beat: seconds, chords, decay, harmonics, root }: Tune): Generator =>
  (count, random) => {
    const all = new Float32Array(count)
    const add = (at: number, x: number) => {
      if (at < count) all[at] = (all[at] ?? 0) + x
    }
    const beat = Math.floor(sampleRate * seconds)
    for (let b = 0; b * beat < count; b++) {
      const chord = chords[Math.floor(b / 4) % chords.length] ?? []
      const high = (chord[Math.floor(random() * chord.length)] ?? 0) + 12
      const onBeat = b % 2 === 0
      for (const semitones of onBeat ? [...chord, high] : [high]) {
        const step = (2 * Math.PI * root * 2 ** (semitones / 12)) / sampleRate
        for (let i = 0; i < beat * (onBeat ? 2 : 1); i++) {
          const envelope = 0.3 * Math.min(1, i / 80) * Math.exp(-i / (decay * sampleRate))
          add(b * beat + i, envelope * harmonics.reduce((sum, part, n) => sum + part * Math.sin((n + 1) * step * i), 0))
        }
      }
      for (let i = 0; i < 1600; i++) {
        const envelope = Math.exp(-i / (onBeat ? 500 : 300))
        const drum = onBeat ? 0.6 * Math.sin(2 * Math.PI * (90 - i * 0.02) * (i / sampleRate)) : 0.25 * gaussian(random)
        add(b * beat + i, envelope * drum)
      }
    }
    return all
  }

/** Tones in a rhythm: pairs of seconds on and off. */
export const tones =
  (frequencies: ReadonlyArray<number>, rhythm: ReadonlyArray<readonly [on: number, off: number]>): Generator =>
  (count, random) => {
    const period = rhythm.reduce((sum, [on, off]) => sum + on + off, 0)
    const volume = (time: number): number => {
      let rest = time % period
      for (const [on, off] of rhythm) {
        if (rest < on) return Math.min(1, rest * 200, (on - rest) * 200)
        rest -= on + off
      }
      return 0
    }
    return Float32Array.from({ length: count }, (_, i) => {
      const sum = frequencies.reduce((total, hertz) => total + Math.sin((2 * Math.PI * hertz * i) / sampleRate), 0)
      return volume(i / sampleRate) * sum + 0.003 * gaussian(random)
    })
  }

/** Line noise whose level jumps by up to 12 dB. */
export const lineSteps: Generator = (count, random) => {
  const pink = pinkNoise(count, random, [])
  let [factor, until] = [1, 0]
  return pink.map((x, i) => {
    if (i >= until) {
      factor = gain(-12 * random())
      until = i + Math.floor(sampleRate * (2 + 5 * random()))
    }
    return factor * (0.5 * x + gaussian(random))
  })
}

/** Silence, then one of the noises at once, again and again; `seconds` each. */
export const suddenly =
  (seconds: number, first: Generator, second: Generator): Generator =>
  (count, random, speech) => {
    const a = first(count, random, speech)
    const b = second(count, random, speech)
    const ratio = rms(a) / rms(b)
    return a.map((x, i) => {
      const turn = Math.floor(i / (sampleRate * seconds)) % 4
      return turn === 1 ? x : turn === 3 ? (b[i] ?? 0) * ratio : 0
    })
  }

/** Vehicles that pass by: low noise that rises and falls. */
export const traffic: Generator = (count, random) => {
  let [a, b, next, started] = [0, 0, 0, 0]
  return Float32Array.from({ length: count }, (_, i) => {
    if (i >= next) {
      started = i
      next = i + Math.floor(sampleRate * (3 + 4 * random()))
    }
    const white = gaussian(random)
    a = 0.985 * a + 0.1 * white
    b = 0.8 * b + 0.2 * white
    const passing = Math.exp(-((((i - started) / (next - started)) * 6 - 3) ** 2) / 2)
    return (a + 0.15 * b) * (0.2 + passing)
  })
}

import { blows, resonator } from "./Blows.ts"
import type { Generator } from "./NoiseGenerators.ts"
import { people } from "./People.ts"
import { gaussian, louder, type Random, rms, type Signal, sampleRate } from "./Signal.ts"

/**
 * Generators of noises for the held-out material, each made in another way than those of `NoiseGenerators`. Four of the
 * noises were looked at while constants were chosen, and others took their place; see `Noise`.
 */

/** Seconds until the next of events that happen `rate` times a second, independently of each other. */
const waitFor = (rate: number, random: Random): number => -Math.log(1 - random()) / rate

/** Hiss of many drops, and single drops of 2 ms near by. */
export const rain: Generator = (count, random) => {
  const all = new Float32Array(count)
  let last = 0
  for (let i = 0; i < count; i++) {
    const white = gaussian(random)
    all[i] = white - 0.6 * last
    last = white
  }
  for (let at = 0; at < count; at += Math.ceil(sampleRate * waitFor(40, random))) {
    const force = 6 * random()
    for (let i = 0; i < 48 && at + i < count; i++) {
      all[at + i] = (all[at + i] ?? 0) + force * Math.exp(-i / 14) * gaussian(random)
    }
  }
  return all
}

/** A car from inside: firings whose rate follows the speed, each another one, and the noise of the road. */
export const engine: Generator = (count, random) => {
  const body = [resonator(95, 0.012), resonator(310, 0.006), resonator(1150, 0.002)]
  let [rate, target, phase, road] = [28, 28, 0, 0]
  return Float32Array.from({ length: count }, () => {
    if (random() < 0.3 / sampleRate) target = 22 + 30 * random()
    rate += (target - rate) * 0.0001
    phase += (2 * rate) / sampleRate
    let firing = 0
    if (phase >= 1) {
      phase -= 1
      firing = 3 + random()
    }
    road += 0.05 * (gaussian(random) - road)
    return body.reduce((sum, ring) => sum + ring(firing), 0) + 4 * road + 0.05 * gaussian(random)
  })
}

/** Low air with a part in it that strikes the cage at each turn, for a while, then not. */
export const rattlingFan: Generator = (count, random) => {
  const cage = resonator(640, 0.004)
  let [air, turn, rattles, until] = [0, 0, false, 0]
  return Float32Array.from({ length: count }, (_, i) => {
    if (i >= until) {
      rattles = !rattles
      until = i + sampleRate * (1 + 5 * random())
    }
    air += 0.2 * (gaussian(random) - air)
    turn += (17 + 0.5 * random()) / sampleRate
    const strikes = turn >= 1
    if (strikes) turn -= 1
    return air + cage(strikes && rattles ? 0.4 + 0.3 * random() : 0) + 0.03 * gaussian(random)
  })
}

/** Gusts in a microphone: low noise that swells within half a second and dies down, never twice the same. */
export const wind: Generator = (count, random) => {
  let [low, deep, force, gust, until] = [0, 0, 0, 0, 0]
  return Float32Array.from({ length: count }, (_, i) => {
    if (i >= until) {
      gust = random() ** 2
      until = i + sampleRate * (0.4 + 2.5 * random())
    }
    force += (gust - force) * (gust > force ? 0.0004 : 0.00015)
    const white = gaussian(random)
    deep += 0.03 * (white - deep)
    low += 0.15 * (white - low)
    return (3 * deep + (0.3 + force) * low) * (0.15 + force)
  })
}

/** Plates and cutlery: two to four parts that ring for 10 to 60 ms, in heaps. */
export const clatter: Generator = (count, random) => {
  const all = Float32Array.from({ length: count }, () => 0.004 * gaussian(random))
  const strike = (at: number) => {
    const parts = Array.from({ length: 2 + Math.floor(3 * random()) }, () =>
      resonator(700 + 2700 * random(), 0.01 + 0.05 * random())
    )
    const force = 0.2 + random()
    for (let i = 0; i < 2400 && at + i < count; i++) {
      const hit = i < 8 ? force * gaussian(random) : 0
      all[at + i] = (all[at + i] ?? 0) + parts.reduce((sum, ring) => sum + ring(hit), 0)
    }
  }
  for (let at = 0; at < count; at += Math.ceil(sampleRate * waitFor(0.8, random))) {
    let time = at
    for (let strikes = 1 + Math.floor(5 * random()); strikes > 0; strikes--) {
      strike(time)
      time += Math.ceil(sampleRate * (0.03 + 0.25 * random()))
    }
  }
  return all
}

/** One string that is plucked (K. Karplus and A. Strong, 1983). */
const pluck = (hertz: number, samples: number, random: Random): Signal => {
  const period = Math.round(sampleRate / hertz)
  const string = Float32Array.from({ length: period }, () => 2 * random() - 1)
  return Float32Array.from({ length: samples }, (_, i) => {
    const at = i % period
    const x = string[at] ?? 0
    string[at] = 0.497 * (x + (string[(at + 1) % period] ?? 0))
    return x
  })
}

/** A guitar in three-four time: a bass, broken chords, and a tune that leaves beats out. */
export const guitar: Generator = (count, random) => {
  const all = new Float32Array(count)
  const chords = [
    [0, 7, 12, 16],
    [-5, 7, 11, 14],
    [-3, 4, 9, 12],
    [-7, 5, 9, 12]
  ]
  const scale = [0, 2, 4, 7, 9, 12]
  const beat = Math.floor(0.42 * sampleRate)
  const play = (at: number, semitones: number, beats: number, loudness: number) => {
    const tone = pluck(147 * 2 ** (semitones / 12), beats * beat, random)
    for (let i = 0; i < tone.length && at + i < count; i++) all[at + i] = (all[at + i] ?? 0) + loudness * (tone[i] ?? 0)
  }
  for (let b = 0; b * beat < count; b++) {
    const [bass, ...chord] = chords[Math.floor(b / 6) % chords.length] ?? []
    if (b % 3 === 0) play(b * beat, bass ?? 0, 3, 1)
    else for (const [n, semitones] of chord.entries()) play(b * beat + n * 240, semitones, 2, 0.5)
    if (random() < 0.6)
      play(b * beat, 12 + (scale[Math.floor(scale.length * random())] ?? 0), 1 + Math.floor(2 * random()), 0.8)
  }
  return all
}

/** People in a hard room, some near and some far, who listen as long as they speak. */
export const crowd: Generator = people({
  voices: 8,
  step: 1.8,
  listening: 1.2,
  room: [0.02, 0.05],
  echoes: 0.7,
  reverberation: 0.35
})

/** People who eat: a crowd, and plates above it. */
export const cafeteria: Generator = (count, random, speech) => {
  const people = crowd(count, random, speech)
  const plates = clatter(count, random, speech)
  const scaled = louder(plates, 20 * Math.log10(rms(people) / rms(plates)) - 6)
  return people.map((x, i) => x + (scaled[i] ?? 0))
}

/** Someone at a door: three to five blows that ring dully, then nothing for a while. */
export const knocking: Generator = blows({
  rings: [
    [180, 60, 0.02],
    [520, 0, 0.008],
    [1500, 0, 0.003]
  ],
  every: 0.16,
  atLeast: 3,
  more: 3,
  pause: [1, 3]
})

/** A trumpet with vibrato that sustains its notes, over two horns in thirds: frequency modulation (J. Chowning, 1973). */
export const brass: Generator = (count, random) => {
  const scale = [0, 2, 3, 5, 7, 8, 10, 12]
  const all = new Float32Array(count)
  const play = (at: number, length: number, semitones: number, loudness: number) => {
    const hertz = 233 * 2 ** (semitones / 12)
    for (let i = 0; i < length && at + i < count; i++) {
      const time = i / sampleRate
      const swell = Math.min(1, time / 0.06, (length - i) / 400)
      const vibrato = 0.06 * Math.sin(2 * Math.PI * 5.5 * time) * Math.min(1, time / 0.3)
      const phase = 2 * Math.PI * hertz * time + 6 * vibrato
      all[at + i] = (all[at + i] ?? 0) + loudness * swell * Math.sin(phase + 3 * swell * Math.sin(phase))
    }
  }
  for (let at = 0; at < count; ) {
    const length = Math.floor(sampleRate * (0.25 + 0.9 * random()))
    const degree = Math.floor(scale.length * random())
    play(at, length - 300, (scale[degree] ?? 0) + 5, 1)
    play(at, length - 150, (scale[(degree + 2) % 8] ?? 0) - 12, 0.5)
    play(at, length - 150, (scale[(degree + 4) % 8] ?? 0) - 12, 0.5)
    at += length
  }
  return all
}

/** A crowd with music at its level. */
export const party: Generator = (count, random, speech) => {
  const people = crowd(count, random, speech)
  const band = brass(count, random, speech)
  const scaled = louder(band, 20 * Math.log10(rms(people) / rms(band)))
  return people.map((x, i) => x + (scaled[i] ?? 0))
}

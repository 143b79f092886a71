import { blows } from "./Blows.ts"
import {
  brass,
  cafeteria,
  clatter,
  crowd,
  engine,
  guitar,
  knocking,
  party,
  rain,
  rattlingFan,
  wind
} from "./HeldOutGenerators.ts"
import {
  fan,
  type Generator,
  hum,
  lineSteps,
  music,
  pinkNoise,
  strokes,
  suddenly,
  tones,
  traffic,
  voices,
  whiteNoise
} from "./NoiseGenerators.ts"
import { people } from "./People.ts"
import { activeRms, atLevel, rms, type Signal, sampleRate, seeded } from "./Signal.ts"
import type { Utterance } from "./SpeechTrack.ts"

/** Its kind, as the figures group noises. */
export type NoiseGroup = "steady" | "keyboard" | "music" | "babble"

interface Kind {
  readonly generate: Generator
  /** Absent: steady. */
  readonly group?: Exclude<NoiseGroup, "steady">
  /** Its level is that of its active part: it has pauses. */
  readonly paused?: boolean
  /** Silence comes back for this many seconds, and so does the noise. */
  readonly everySeconds?: number
}

/** The noises that the detector's constants were chosen with. */
const first = {
  white: { generate: whiteNoise },
  pink: { generate: pinkNoise },
  hum: { generate: hum(50, 12) },
  steps: { generate: lineSteps },
  sudden: { generate: suddenly(4, whiteNoise, pinkNoise), paused: true, everySeconds: 4 },
  ringback: { generate: tones([425], [[1, 4]]), paused: true },
  ringback2: { generate: tones([440, 480], [[2, 4]]), paused: true },
  keyboard: { group: "keyboard", generate: strokes([0.09, 0.2], [900, 1800]) },
  music: {
    group: "music",
    generate: music({
      chords: [
        [0, 4, 7],
        [9, 12, 16],
        [5, 9, 12],
        [7, 11, 14]
      ],
      root: 220,
      beat: 0.5,
      decay: 0.45,
      harmonics: [1, 0.5, 0.25, 0.12]
    })
  },
  babble: { group: "babble", generate: voices(6) }
} as const satisfies Record<string, Kind>

/** Noises that were held out at first, and that constants were chosen with later. */
const second = {
  fan: { generate: fan },
  traffic: { generate: traffic },
  "hum 60 Hz": { generate: hum(60, 20) },
  "sudden fan": { generate: suddenly(3, fan, pinkNoise), paused: true, everySeconds: 3 },
  "ringback UK": {
    generate: tones(
      [400, 450],
      [
        [0.4, 0.2],
        [0.4, 2]
      ]
    ),
    paused: true
  },
  "busy tone": { generate: tones([480, 620], [[0.5, 0.5]]), paused: true },
  typing: { group: "keyboard", generate: strokes([0.06, 0.14], [1500, 1500]) },
  strings: {
    group: "music",
    generate: music({
      chords: [
        [0, 3, 7],
        [8, 12, 15],
        [3, 7, 10],
        [10, 14, 17]
      ],
      root: 165,
      beat: 0.37,
      decay: 0.9,
      harmonics: [0.8, 0.6, 0.5, 0.3, 0.2, 0.1]
    })
  },
  "babble 9": { group: "babble", generate: voices(9) },
  "sudden rain": { generate: suddenly(5, rain, engine), paused: true, everySeconds: 5 },
  clatter: { group: "keyboard", generate: clatter, paused: true },
  guitar: { group: "music", generate: guitar },
  cafeteria: { group: "babble", generate: cafeteria }
} as const satisfies Record<string, Kind>

/** Noises that no constant was chosen with. */
const heldOut = {
  rain: { generate: rain },
  engine: { generate: engine },
  "rattling fan": { generate: rattlingFan },
  wind: { generate: wind },
  "dial tone": { generate: tones([350, 440], [[3, 2]]), paused: true },
  crowd: { group: "babble", generate: crowd },
  "sudden wind": { generate: suddenly(6, wind, rattlingFan), paused: true, everySeconds: 6 },
  knocking: { group: "keyboard", generate: knocking, paused: true },
  brass: { group: "music", generate: brass },
  party: { group: "babble", generate: party }
} as const satisfies Record<string, Kind>

/** More noises of two kinds that are hard: people in a room, and blows. */
const third = {
  dinner: {
    group: "babble",
    generate: people({ voices: 7, step: 1.9, listening: 1.2, room: [0.015, 0.03], echoes: 0.6, reverberation: 0.3 })
  },
  lobby: {
    group: "babble",
    generate: people({ voices: 10, step: 1.3, listening: 1, room: [0.03, 0.07], echoes: 0.8, reverberation: 0.4 })
  },
  office: {
    group: "babble",
    generate: people({ voices: 9, step: 1.9, listening: 1.3, room: [0.025, 0.04], echoes: 0.7, reverberation: 0.3 })
  },
  meeting: {
    group: "babble",
    generate: people({ voices: 9, step: 1.6, listening: 1.4, room: [0.025, 0.05], echoes: 0.75, reverberation: 0.35 })
  },
  hammering: {
    group: "keyboard",
    generate: blows({
      rings: [
        [260, 120, 0.025],
        [780, 0, 0.01],
        [2100, 0, 0.004]
      ],
      every: 0.22,
      atLeast: 2,
      more: 5,
      pause: [1.5, 3]
    }),
    paused: true
  },
  footsteps: {
    group: "keyboard",
    generate: blows({
      rings: [
        [140, 50, 0.018],
        [430, 90, 0.007],
        [1200, 0, 0.003]
      ],
      every: 0.31,
      atLeast: 4,
      more: 6,
      pause: [2, 4]
    }),
    paused: true
  },
  "wooden box": {
    group: "keyboard",
    generate: blows({
      rings: [
        [210, 80, 0.024],
        [610, 150, 0.009],
        [1750, 0, 0.003]
      ],
      every: 0.13,
      atLeast: 2,
      more: 4,
      pause: [0.9, 2.5]
    }),
    paused: true
  }
} as const satisfies Record<string, Kind>

const kinds: Readonly<Record<string, Kind>> = { ...first, ...second, ...heldOut, ...third }

export const firstNoises = Object.keys(first) as ReadonlyArray<keyof typeof first>
export const secondNoises = Object.keys(second) as ReadonlyArray<keyof typeof second>
export const heldOutNoises = Object.keys(heldOut) as ReadonlyArray<keyof typeof heldOut>
export const thirdNoises = Object.keys(third) as ReadonlyArray<keyof typeof third>
export type NoiseName = (typeof firstNoises | typeof secondNoises | typeof heldOutNoises | typeof thirdNoises)[number]

export const groupOf = (name: NoiseName): NoiseGroup => kinds[name]?.group ?? "steady"

/** Seconds after which the noise begins again; undefined if it does not stop. */
export const restartOf = (name: NoiseName): number | undefined => kinds[name]?.everySeconds

/** A noise at 0 dBov. */
export const noise = (name: NoiseName, seconds: number, seed: number, speech: ReadonlyArray<Utterance>): Signal => {
  const kind = kinds[name]
  if (kind === undefined) throw new Error(`there is no noise "${name}"`)
  const random = seeded(seed * 7919 + Object.keys(kinds).indexOf(name))
  const signal = kind.generate(seconds * sampleRate, random, speech)
  return atLevel(signal, kind.paused === true ? activeRms(signal) : rms(signal), 0)
}

import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { agentTrack, type EchoPath, echoOf, onQuietLine } from "./Echo.ts"
import { type NoiseName, noise, restartOf } from "./Noise.ts"
import {
  activeRms,
  frameLength,
  gain,
  louder,
  mix,
  powerAt,
  rms,
  type Signal,
  sampleRate,
  seeded,
  throughTelephone
} from "./Signal.ts"
import type { SpeechTrack, Utterance } from "./SpeechTrack.ts"

/** Opens a detector for 8 kHz. */
export type OpenDetector = () => VoiceActivityDetector

const frameMs = 20

export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

/** 1 for each frame that the detector calls speech. `sent`: what the agent says meanwhile. */
export const decisions = (open: OpenDetector, heard: Int16Array, sent?: Int16Array): Uint8Array => {
  const detector = open()
  const result = new Uint8Array(Math.floor(heard.length / frameLength))
  for (let frame = 0; frame < result.length; frame++) {
    const from = frame * frameLength
    detector.sent?.(sent?.subarray(from, from + frameLength))
    result[frame] = detector.push(heard.subarray(from, from + frameLength)) === "speech" ? 1 : 0
  }
  detector.close?.()
  return result
}

/** How well speech in noise is found. */
export interface Found {
  /** Share of the frames of speech, without the first 100 ms of each utterance. */
  readonly share: number
  /** Utterances of which nothing was found. */
  readonly missed: number
  /** Milliseconds from the beginning of each utterance found to its report, and from its end to that report. */
  readonly onsets: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

const graceFrames = 5

export const found = (decided: Uint8Array, { isSpeech, spans }: SpeechTrack): Found => {
  let [all, hits, missed] = [0, 0, 0]
  const onsets: Array<number> = []
  const ends: Array<number> = []
  for (const [index, [first, end]] of spans.entries()) {
    for (let frame = first + graceFrames; frame < end; frame++) {
      if (isSpeech[frame] !== 1) continue
      all++
      hits += decided[frame] ?? 0
    }
    const begun = decided.subarray(first, end + graceFrames).indexOf(1)
    if (begun === -1) missed++
    // A decision is known at the end of its frame.
    else onsets.push((begun + 1) * frameMs)
    if (decided[end - 1] !== 1) continue
    const ended = decided.subarray(end, spans[index + 1]?.[0] ?? decided.length).indexOf(0)
    if (ended !== -1) ends.push((ended + 1) * frameMs)
  }
  return { share: hits / all, missed, onsets, ends }
}

/** Speech at `dbov` in a noise that is `snr` dB weaker; without a noise, on a quiet line. */
export const speechIn = (
  open: OpenDetector,
  track: SpeechTrack,
  background: Signal | undefined,
  snr: number,
  dbov: number
): Found => {
  const heard =
    background === undefined
      ? onQuietLine(track.signal, 1)
      : throughTelephone(mix(track.signal, background, dbov - snr))
  return found(decisions(open, heard), track)
}

/** Stretches of speech of at least 100, 250 and 500 ms. */
export type Stretches = readonly [number, number, number]

export const stretchesOf = (decided: Uint8Array): Stretches => {
  const counts: [number, number, number] = [0, 0, 0]
  let length = 0
  for (let frame = 0; frame <= decided.length; frame++) {
    if (decided[frame] === 1) length++
    else {
      if (length >= 5) counts[0]++
      if (length >= 13) counts[1]++
      if (length >= 25) counts[2]++
      length = 0
    }
  }
  return counts
}

/** What a detector makes of a noise without speech. */
export interface FalseSpeech {
  /** Share of the frames called speech, 300 ms after the noise began or later. */
  readonly share: number
  readonly stretches: Stretches
}

/** A noise at `dbov` that begins after one second of silence. */
export const falseSpeech = (open: OpenDetector, name: NoiseName, background: Signal, dbov: number): FalseSpeech => {
  const heard = new Float32Array(sampleRate + background.length)
  heard.set(louder(background, dbov), sampleRate)
  const decided = decisions(open, throughTelephone(heard))
  const restart = restartOf(name)
  let [all, speech] = [0, 0]
  for (let frame = 50; frame < decided.length; frame++) {
    const seconds = (frame - 50) * 0.02
    const begun = restart === undefined ? seconds : (seconds % (2 * restart)) - restart
    if (begun >= 0 && begun < 0.3) continue
    all++
    speech += decided[frame] ?? 0
  }
  return { share: speech / all, stretches: stretchesOf(decided) }
}

/** How callers are heard while the agent speaks. */
export interface HeardCallers {
  readonly callers: number
  readonly heard: number
  /** Milliseconds from a caller's first sound to speech, infinite for those who are not heard. */
  readonly delays: ReadonlyArray<number>
  /** Of callers who speak for at least 600 ms: those with 250 ms of speech at a stretch. */
  readonly longCallers: number
  readonly interrupting: number
}

export interface EchoFigures {
  /** Stretches of speech in the echo alone. */
  readonly stretches: Stretches
  readonly callers: HeardCallers
}

/** A call with an echo. */
export interface EchoCall {
  readonly agent: Int16Array
  /** The echo alone. */
  readonly echo: Signal
  readonly seed: number
}

/** Calls of `seconds` on a path. `movesTo`: the path from the middle of each call on. */
export const echoCalls = (options: {
  readonly lines: ReadonlyArray<Utterance>
  readonly calls: number
  readonly seconds: number
  readonly path: EchoPath
  readonly movesTo?: EchoPath
}): ReadonlyArray<EchoCall> =>
  Array.from({ length: options.calls }, (_, call) => {
    const agent = agentTrack(options.lines, options.seconds, -20, 100 + call)
    const echo = echoOf(agent, options.path, 7 + call)
    if (options.movesTo !== undefined) {
      const middle = Math.floor(options.seconds / 2) * sampleRate
      echo.set(echoOf(agent, options.movesTo, 7 + call).subarray(middle), middle)
    }
    return { agent, echo, seed: call }
  })

export const falseInterruptions = (open: OpenDetector, calls: ReadonlyArray<EchoCall>): Stretches => {
  const sums: [number, number, number] = [0, 0, 0]
  for (const { agent, echo, seed } of calls) {
    for (const [i, count] of stretchesOf(decisions(open, onQuietLine(echo, seed), agent)).entries()) {
      sums[i as 0 | 1 | 2] += count
    }
  }
  return sums
}

/** Callers who begin while the agent speaks, `relative` dB louder than the echo. */
export const heardCallers = (
  open: OpenDetector,
  calls: ReadonlyArray<EchoCall>,
  utterances: ReadonlyArray<Utterance>,
  relative: number
): HeardCallers => {
  let [heard, longCallers, interrupting] = [0, 0, 0]
  const delays: Array<number> = []
  for (const { agent, echo, seed } of calls) {
    const both = echo.slice()
    const begins = addCallers(both, agent, utterances, relative + 20 * Math.log10(activeRms(echo) / powerAt(0)), seed)
    const decided = decisions(open, onQuietLine(both, seed), agent)
    for (const [from, to] of begins) {
      const first = Math.floor(from / frameLength)
      const end = Math.floor(to / frameLength)
      const begun = decided.subarray(first, end).indexOf(1)
      delays.push(begun === -1 ? Number.POSITIVE_INFINITY : (begun + 1) * frameMs)
      if (begun !== -1) heard++
      if (end - first < 30) continue
      longCallers++
      if (stretchesOf(decided.subarray(first, end + graceFrames))[1] > 0) interrupting++
    }
  }
  return { callers: delays.length, heard, delays, longCallers, interrupting }
}

/** Adds utterances at `dbov` where the agent speaks; returns where each is audible. */
const addCallers = (
  signal: Signal,
  agent: Int16Array,
  utterances: ReadonlyArray<Utterance>,
  dbov: number,
  seed: number
): ReadonlyArray<readonly [from: number, to: number]> => {
  const random = seeded(seed + 50)
  const begins: Array<readonly [number, number]> = []
  const half = sampleRate / 2
  const factor = gain(dbov)
  let at = 4 * sampleRate
  while (at < signal.length - 6 * sampleRate) {
    const agentSpeaks =
      rms(agent, at - half, at) > 800 && rms(agent, at, at + half) > 800 && rms(agent, at + half, at + 3 * half) > 500
    if (!agentSpeaks) {
      at += half / 5
      continue
    }
    const utterance = utterances[Math.floor(random() * utterances.length)]?.signal ?? new Float32Array()
    for (let i = 0; i < utterance.length && at + i < signal.length; i++) {
      signal[at + i] = (signal[at + i] ?? 0) + (utterance[i] ?? 0) * factor
    }
    let audible = 0
    while (audible < utterance.length && rms(utterance, audible, audible + frameLength) < powerAt(-25)) audible += 80
    begins.push([at + audible, at + utterance.length])
    at += utterance.length + 3 * sampleRate
  }
  return begins
}

/** The noise of a name, made once for each length and seed. */
export class NoiseStore {
  readonly #speech: ReadonlyArray<Utterance>
  readonly #made = new Map<string, Signal>()

  constructor(speech: ReadonlyArray<Utterance>) {
    this.#speech = speech
  }

  get(name: NoiseName, seconds: number, seed: number): Signal {
    const key = `${name} ${seconds} ${seed}`
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const made = noise(name, seconds, seed, this.#speech)
    this.#made.set(key, made)
    return made
  }
}

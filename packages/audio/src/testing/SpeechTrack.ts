import { concat, frameLength, louder, powerAt, rms, type Signal, sampleRate, seeded } from "./Signal.ts"

/** Speech without noise, at an active level of 0 dBov. */
export interface Utterance {
  readonly name: string
  readonly signal: Signal
}

/** Speech with pauses, and where it is. */
export interface SpeechTrack {
  readonly signal: Signal
  /** 1 for each frame within 25 dB of the active level. */
  readonly isSpeech: Uint8Array
  /** The first frame of each stretch of speech, and the one after its last; pauses up to 300 ms are inside. */
  readonly spans: ReadonlyArray<readonly [first: number, end: number]>
}

const longestPause = 15
const shortestSpan = 5

/** Utterances at `dbov` in a random order, 1 to 2 s apart, after 3 s of silence. */
export const speechTrack = (utterances: ReadonlyArray<Utterance>, dbov: number, seed: number): SpeechTrack => {
  const random = seeded(seed)
  const order = utterances.map((utterance) => ({ utterance, rank: random() })).toSorted((a, b) => a.rank - b.rank)
  const parts: Array<Signal> = [new Float32Array(3 * sampleRate)]
  for (const { utterance } of order) {
    parts.push(louder(utterance.signal, dbov), new Float32Array(Math.floor((1 + random()) * sampleRate)))
  }
  return labelled(concat(parts), dbov)
}

const labelled = (signal: Signal, dbov: number): SpeechTrack => {
  const frames = Math.floor(signal.length / frameLength)
  const threshold = powerAt(dbov - 25)
  const isSpeech = Uint8Array.from({ length: frames }, (_, frame) =>
    rms(signal, frame * frameLength, (frame + 1) * frameLength) > threshold ? 1 : 0
  )
  const spans: Array<[number, number]> = []
  for (let frame = 0; frame < frames; frame++) {
    if (isSpeech[frame] === 0) continue
    const last = spans.at(-1)
    if (last !== undefined && frame - last[1] <= longestPause) last[1] = frame + 1
    else spans.push([frame, frame + 1])
  }
  return { signal, isSpeech, spans: spans.filter(([first, end]) => end - first >= shortestSpan) }
}

import { groupOf, type NoiseName } from "./Noise.ts"

/** What voice activity must reach, and what it should. Shares are from 0 to 1, times in ms. */
export interface Target {
  readonly must: number
  readonly goal: number
}

/** By how many dB the noise is weaker than speech. */
export type Snr = 20 | 10

const target = (must: number, goal: number): Target => ({ must, goal })

/** Share of speech that is found, at least. */
export const foundTarget = (name: NoiseName, snr: Snr): Target => {
  if (snr === 20) return target(0.9, 0.95)
  const group = groupOf(name)
  return group === "babble" ? target(0.7, 0.8) : group === "music" ? target(0.78, 0.85) : target(0.78, 0.88)
}

/** Share of a noise without speech that is called speech, at most. */
export const falseSpeechTarget = (name: NoiseName, snr: Snr): Target => {
  if (snr === 20) return target(0.01, 0.003)
  return ["music", "babble"].includes(groupOf(name)) ? target(0.08, 0.03) : target(0.01, 0.005)
}

/** Stretches of 250 ms of "speech" in 10 minutes of noise, at most. */
export const falseStretchesTarget = (name: NoiseName, snr: Snr): Target => {
  if (groupOf(name) === "steady") return target(0, 0)
  return snr === 20 ? target(3, 0) : target(20, 5)
}

/** Median time from the beginning of speech to its report, and from its end, at most. */
export const onsetTarget = (snr: Snr): Target => (snr === 20 ? target(100, 60) : target(140, 100))
export const endTarget: Target = target(300, 200)

/** Interruptions of 250 ms by the agent's own echo in 10 minutes, at most: on a fixed path, and after it changed. */
export const echoTarget: Target = target(0, 0)
export const movedEchoTarget: Target = target(3, 0)

/** Callers at the level of the echo: the share that is heard, at least, and the median delay, at most. */
export const callersTarget: Target = target(0.88, 0.95)
export const callerDelayTarget: Target = target(250, 150)

/** Digits that are found in an hour of speech, at most. */
export const digitsTarget: Target = target(0, 0)

/** Share of a core for 500 calls in which each side speaks half of the time, at most. */
export const costTarget: Target = target(0.1, 0.05)

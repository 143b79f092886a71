import { concat, gain, gaussian, louder, rms, type Signal, sampleRate, seeded, throughTelephone } from "./Signal.ts"
import type { Utterance } from "./SpeechTrack.ts"

/** An agent that speaks about three quarters of the time, as it is sent. */
export const agentTrack = (
  lines: ReadonlyArray<Utterance>,
  seconds: number,
  dbov: number,
  seed: number
): Int16Array => {
  const random = seeded(seed)
  const parts: Array<Signal> = [new Float32Array(Math.floor(0.3 * sampleRate))]
  let length = 0
  while (length < seconds * sampleRate) {
    const { signal } = lines[Math.floor(random() * lines.length)] ?? { signal: new Float32Array(sampleRate) }
    const pause = new Float32Array(Math.floor((0.3 + 1.7 * random()) * sampleRate))
    parts.push(louder(signal, dbov), pause)
    length += signal.length + pause.length
  }
  return throughTelephone(concat(parts).slice(0, seconds * sampleRate))
}

/** How the agent's voice comes back. */
export interface EchoPath {
  /** A hybrid of the line is short; a loudspeaker telephone in a room has a tail of 80 ms. */
  readonly kind: "line" | "room"
  readonly delayMs: number
  /** By how many dB the echo is weaker than the agent. */
  readonly down: number
}

const lineResponse = [0.2, 1, -0.55, 0.3, -0.2, 0.1, -0.05]

/** What comes back of the agent's voice. The response of a room depends on the seed. */
export const echoOf = (agent: Int16Array, { delayMs, down, kind }: EchoPath, seed: number): Signal => {
  const random = seeded(seed)
  const response =
    kind === "line"
      ? lineResponse
      : Array.from({ length: 640 }, (_, i) => (i === 0 ? 1.2 : 0) + gaussian(random) * 0.35 * Math.exp(-i / 110))
  const delay = Math.round((delayMs / 1000) * sampleRate)
  const echo = new Float32Array(agent.length)
  for (const [tap, factor] of response.entries()) {
    for (let i = delay + tap; i < echo.length; i++) {
      echo[i] = (echo[i] ?? 0) + factor * (agent[i - delay - tap] ?? 0)
    }
  }
  const factor = (rms(agent) / rms(echo, delay)) * gain(-down)
  return echo.map((x) => x * factor)
}

/** With the noise of a quiet line, about -69 dBov, as it is heard. */
export const onQuietLine = (signal: Signal, seed: number): Int16Array => {
  const random = seeded(seed)
  return throughTelephone(signal.map((x) => x + (random() - 0.5) * 40))
}

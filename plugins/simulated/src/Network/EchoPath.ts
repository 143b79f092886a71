import type { LegRealism } from "../Realism/Realism.ts"

/** The level and the delay of the echo where only the other one is given. */
const defaultDb = 20
const defaultDelayMs = 100

/** The way from the phone's loudspeaker to its microphone: the agent's audio comes back quieter and later. */
export class EchoPath {
  #frames: Array<{ readonly pcm: Int16Array; readonly tick: number }> = []

  get isSounding(): boolean {
    return this.#frames.length > 0
  }

  /** Takes a frame of PCM16 that is played at `tick`, counted in frames. */
  put(pcm: Int16Array, tick: number, { echo_db = defaultDb, echo_delay_ms = defaultDelayMs }: LegRealism): void {
    const gain = 10 ** (-echo_db / 20)
    const due = Math.max(tick + 1 + Math.round(echo_delay_ms / 20), (this.#frames.at(-1)?.tick ?? 0) + 1)
    this.#frames.push({ pcm: pcm.map((sample) => Math.round(sample * gain)), tick: due })
  }

  /** The echo that is heard at `tick`. */
  take(tick: number): Int16Array | undefined {
    const [first] = this.#frames
    if (first === undefined || first.tick > tick) return undefined
    this.#frames.shift()
    return first.pcm
  }

  clear(): void {
    this.#frames = []
  }
}

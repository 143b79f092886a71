import type { MediaClock, TickListener } from "./NetworkClock.ts"

/**
 * How long audio waits in the network before the phone gets it: 300 ms. Longer than the end and the check sum of tone
 * speech (180 ms), so that a call that is hung up too early loses words and not only these.
 */
export const bufferFrames = 15

/** Receives what leaves the buffer. */
export interface PlayoutListener {
  /** A frame leaves the buffer; valid only during the call. */
  readonly play: (frame: Uint8Array) => void
  readonly confirm: (mark: string, outcome: "played" | "cleared") => void
}

type Waiting = { readonly frame: Uint8Array; readonly tick: number } | { readonly mark: string }

/**
 * The buffer of a network that echoes marks, as carriers behind a media socket have it: audio leaves it 300 ms after it
 * came, in order, one frame every 20 ms. A mark is confirmed as `played` when the audio before it has left, and as
 * `cleared` when that was dropped.
 */
export class PlayoutBuffer implements TickListener {
  readonly #clock: MediaClock
  readonly #listener: PlayoutListener
  #waiting: Array<Waiting> = []
  #tick = 0
  #lastTick = 0

  constructor(clock: MediaClock, listener: PlayoutListener) {
    this.#clock = clock
    this.#listener = listener
  }

  /** Takes one frame of the agent. */
  put(frame: Uint8Array): void {
    this.#lastTick = Math.max(this.#tick + 1 + bufferFrames, this.#lastTick + 1)
    this.#waiting.push({ frame: frame.slice(), tick: this.#lastTick })
    this.#clock.start(this)
  }

  mark(name: string): void {
    if (this.#waiting.length === 0) this.#listener.confirm(name, "played")
    else this.#waiting.push({ mark: name })
  }

  clear(): void {
    for (const waiting of this.#drop()) if ("mark" in waiting) this.#listener.confirm(waiting.mark, "cleared")
  }

  tick(): boolean {
    this.#tick++
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if ("frame" in next && next.tick > this.#tick) return true
      this.#waiting.shift()
      if ("frame" in next) this.#listener.play(next.frame)
      else this.#listener.confirm(next.mark, "played")
    }
    return false
  }

  /** Drops everything, and confirms nothing. */
  stop(): void {
    this.#drop()
  }

  #drop(): ReadonlyArray<Waiting> {
    const dropped = this.#waiting
    this.#waiting = []
    this.#lastTick = 0
    this.#clock.stop(this)
    return dropped
  }
}

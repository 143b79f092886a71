import { frameMs } from "./Audio.ts"
import type { SharedTimeout } from "./SharedTimeout.ts"

/** The messages of a carrier's media connection. */
export interface MediaConnection {
  /** Sends audio. The bytes may be kept. */
  readonly media: (audio: Uint8Array) => void
  /** Asks for a mark with this name, when the audio before it was played. */
  readonly mark: (name: string) => void
  /** Asks the carrier to drop what it has not played. */
  readonly clear: () => void
}

/** Frames of a message: 100 ms. One message for each frame costs half as much CPU again. */
const messageFrames = 5
/** Frames of the first message after a pause: 20 ms more than are played until the next one comes, against jitter. */
const firstFrames = messageFrames + 1

/** How much audio a carrier accepts ahead of playback, in milliseconds: the engine sends that at first, then 100 ms at a time. */
export const aheadMs = 200

/** How long the frames of a message that is not full wait for more, in milliseconds. */
export const flushAfterMs = 60

/**
 * The audio and the marks on their way to a carrier, in messages of 100 ms. A mark keeps its place between the frames. What
 * comes ahead of time, several frames at once, is a message. Single frames are collected, after a pause 20 ms more, and never
 * for longer than the carrier has audio to play.
 *
 * Marks have other names on the wire than in the engine, because carriers confirm marks that `clear` has dropped like those
 * that were played. The engine gets one confirmation of each: `cleared` from `clear`, `played` when the carrier confirms it.
 */
export class BatchedMedia {
  readonly #frameBytes: number
  readonly #flushAfter: SharedTimeout
  readonly #onMark: (name: string, outcome: "played" | "cleared") => void
  #connection: MediaConnection | undefined
  /** What waits to be sent: audio, and marks between it. */
  #waiting: Array<Uint8Array | string> = []
  #chunk: Uint8Array
  #chunkFrames = 0
  /** Frames that wait. */
  #frames = 0
  /** With so many frames the message is full. */
  #target = firstFrames
  #lastFrameAt = 0
  /** Until when the carrier plays what it has, if it gets nothing more. */
  #playsUntil = 0
  #stopFlush: (() => void) | undefined
  /** Marks that are not confirmed: the names on the wire and those of the engine, in order. */
  #pending: Array<{ readonly wire: string; readonly name: string }> = []
  #marks = 0

  /** `flushAfter`: a timeout of {@link flushAfterMs}. */
  constructor(options: {
    readonly frameBytes: number
    readonly flushAfter: SharedTimeout
    readonly onMark: (name: string, outcome: "played" | "cleared") => void
  }) {
    this.#frameBytes = options.frameBytes
    this.#flushAfter = options.flushAfter
    this.#onMark = options.onMark
    this.#chunk = this.#emptyChunk()
  }

  /** The connection from now on; undefined: there is none. What was on its way over the former one is dropped. */
  connect(connection: MediaConnection | undefined): void {
    this.#drop()
    this.#connection = connection
  }

  /** Takes one frame or several, whose bytes may be reused. */
  send(frame: Uint8Array): void {
    if (this.#connection === undefined) return
    if (frame.length > this.#frameBytes) {
      this.#sendAtOnce(frame)
      return
    }
    const now = this.#flushAfter.now()
    if (this.#frames === 0) this.#target = this.#targetAt(now)
    this.#chunk.set(frame.subarray(0, this.#frameBytes), this.#chunkFrames * this.#frameBytes)
    this.#chunkFrames++
    this.#frames++
    this.#lastFrameAt = now
    if (this.#frames >= this.#target) {
      this.#flush()
      return
    }
    this.#stopFlush ??= this.#flushAfter.watch(
      () => this.#lastFrameAt,
      () => {
        this.#stopFlush = undefined
        this.#flush()
      }
    )
  }

  /** With how many frames the message is full whose first frame comes at `now`. */
  #targetAt(now: number): number {
    const left = Math.round((this.#playsUntil - now) / frameMs)
    return left <= 0 ? firstFrames : Math.min(left, messageFrames)
  }

  /** Sends frames with those that were collected. */
  #sendAtOnce(frames: Uint8Array): void {
    const collected = this.#chunkFrames * this.#frameBytes
    const message = new Uint8Array(collected + frames.length)
    message.set(this.#chunk.subarray(0, collected))
    message.set(frames, collected)
    this.#chunkFrames = 0
    this.#waiting.push(message)
    this.#flush()
  }

  mark(name: string): void {
    if (this.#connection === undefined) return
    const wire = `m${++this.#marks}`
    this.#pending.push({ wire, name })
    if (this.#frames === 0) {
      this.#connection.mark(wire)
      return
    }
    this.#endChunk()
    this.#waiting.push(wire)
  }

  /** Sends other audio at once, after what waits. */
  insert(audio: Uint8Array): void {
    this.#flush()
    if (audio.length > 0) this.#sendAudio(audio)
  }

  #sendAudio(audio: Uint8Array): void {
    const ms = (audio.length / this.#frameBytes) * frameMs
    this.#playsUntil = Math.max(this.#playsUntil, this.#flushAfter.now()) + ms
    this.#connection?.media(audio)
  }

  clear(): void {
    if (this.#connection === undefined) return
    this.#connection.clear()
    this.#drop()
  }

  /** The carrier has confirmed a mark. Those before it were played too. */
  marked(wire: string): void {
    const index = this.#pending.findIndex((one) => one.wire === wire)
    for (const { name } of this.#pending.splice(0, index + 1)) this.#onMark(name, "played")
  }

  /** Nothing more is sent or confirmed. */
  close(): void {
    this.#pending = []
    this.connect(undefined)
  }

  #emptyChunk(): Uint8Array {
    return new Uint8Array(firstFrames * this.#frameBytes)
  }

  #endChunk(): void {
    if (this.#chunkFrames === 0) return
    this.#waiting.push(this.#chunk.subarray(0, this.#chunkFrames * this.#frameBytes))
    this.#chunk = this.#emptyChunk()
    this.#chunkFrames = 0
  }

  #flush(): void {
    this.#stopFlush?.()
    this.#stopFlush = undefined
    this.#endChunk()
    this.#frames = 0
    for (const one of this.#waiting.splice(0)) {
      if (typeof one === "string") this.#connection?.mark(one)
      else this.#sendAudio(one)
    }
  }

  #drop(): void {
    this.#stopFlush?.()
    this.#stopFlush = undefined
    this.#waiting = []
    this.#chunkFrames = 0
    this.#frames = 0
    this.#playsUntil = 0
    for (const { name } of this.#pending.splice(0)) this.#onMark(name, "cleared")
  }
}

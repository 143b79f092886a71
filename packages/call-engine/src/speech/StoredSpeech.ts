import type { AudioSink, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Cause, Deferred, Effect, FiberId } from "effect"
import type { SpeechSource } from "./SpeechCache.ts"

/** How much is written to a sink at once, in milliseconds. */
const pieceMs = 200

/** The audio and the alignment of one text, which may still grow. It is played any number of times, also while it grows. */
export class StoredSpeech {
  readonly sampleRate: number
  /** Bytes that the cache has counted for it. */
  counted = 0
  samples = 0
  readonly #chunks: Array<Int16Array> = []
  /** Pairs of characters and samples. */
  readonly marks: Array<readonly [characters: number, atSample: number]> = []
  #state: "growing" | "complete" | "failed" = "growing"
  #cause: Cause.Cause<TextToSpeechError> | undefined
  readonly #changed = Effect.unsafeMakeLatch()
  readonly #source = Deferred.unsafeMake<SpeechSource>(FiberId.none)

  readonly #askedAt: number

  /** `askedAt`: when its synthesis began, in milliseconds. */
  constructor(sampleRate: number, askedAt: number) {
    this.sampleRate = sampleRate
    this.#askedAt = askedAt
  }

  /** Whether it was asked for before this time, and has no audio. */
  isSilentSince(time: number): boolean {
    return this.#state === "growing" && this.samples === 0 && this.#askedAt < time
  }

  get bytes(): number {
    return 2 * this.samples + 32 * this.marks.length
  }

  get isComplete(): boolean {
    return this.#state === "complete"
  }

  get chunks(): ReadonlyArray<Int16Array> {
    return this.#chunks
  }

  source(source: SpeechSource): void {
    Deferred.unsafeDone(this.#source, Effect.succeed(source))
  }

  /** Where the audio comes from, once that is known. */
  get origin(): Effect.Effect<SpeechSource> {
    return Deferred.await(this.#source)
  }

  write(samples: Int16Array): void {
    // Providers may use their buffers again.
    for (let at = 0; at < samples.length; at += this.#piece) this.#chunks.push(samples.slice(at, at + this.#piece))
    this.samples += samples.length
    this.#wake()
  }

  get #piece(): number {
    return (this.sampleRate / 1000) * pieceMs
  }

  align(characters: number, atSample: number): void {
    this.marks.push([characters, atSample])
    this.#wake()
  }

  complete(): void {
    this.#end("complete")
  }

  fail(cause: Cause.Cause<TextToSpeechError>): void {
    this.#cause = cause
    this.#end("failed")
  }

  #end(state: "complete" | "failed"): void {
    this.#state = state
    this.source("cache")
    this.#wake()
  }

  #wake(): void {
    this.#changed.unsafeOpen()
  }

  /** Waits for the next change. */
  get #change(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#changed.unsafeClose()
      return this.#changed.await
    })
  }

  /** Completes when there is audio, or there will be none. */
  get begun(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.samples > 0 || this.#state !== "growing" ? Effect.void : Effect.zipRight(this.#change, this.begun)
    )
  }

  /** Completes when there are more samples than this. */
  hasMoreThan(samples: number): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.samples > samples ? Effect.void : Effect.zipRight(this.#change, this.hasMoreThan(samples))
    )
  }

  /** Writes all audio to a sink, with its alignment; fails as its synthesis fails. */
  play(sink: AudioSink): Effect.Effect<void, TextToSpeechError> {
    let chunk = 0
    let mark = 0
    const next: Effect.Effect<void, TextToSpeechError> = Effect.suspend(() => {
      // Alignment first: it is exact from the beginning.
      for (; mark < this.marks.length; mark++) sink.align(...(this.marks[mark] ?? [0, 0]))
      for (let samples = this.#chunks[chunk]; samples !== undefined; samples = this.#chunks[chunk]) {
        chunk++
        if (!sink.write(samples)) return Effect.zipRight(sink.drained, next)
      }
      if (this.#cause !== undefined) return Effect.failCause(this.#cause)
      return this.#state === "complete" ? Effect.void : Effect.zipRight(this.#change, next)
    })
    return next
  }
}

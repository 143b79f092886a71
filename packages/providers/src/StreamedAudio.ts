import { Effect, type Scope } from "effect"
import { Pcm16Reader } from "./Pcm16Reader.ts"
import type { AudioSink } from "./TextToSpeech.ts"

/**
 * The audio of a turn as a vendor streams it, on its way to a sink that may be full. The positions of characters are
 * reported after the audio that they speak of, and never decrease. Synchronous; nothing throws.
 */
export interface StreamedAudio {
  /** Samples that were pushed. */
  readonly pushed: () => number
  readonly push: (samples: Int16Array) => void
  /** As `align` of the sink, at any time before or after that audio. */
  readonly align: (characters: number, atSample: number) => void
  /** Drops what was not written; nothing is written after that. */
  readonly stop: () => void
  /** No audio follows, and the turn has so many characters. Completes when all audio was written. */
  readonly finish: (characters: number) => Effect.Effect<void>
}

/** Writes to the sink until the scope is closed. */
export const make: (sink: AudioSink) => Effect.Effect<StreamedAudio, never, Scope.Scope> = Effect.fnUntraced(
  function* (sink) {
    let waiting: Array<Int16Array> = []
    /** Positions in audio that was not written yet, in ascending order. */
    let positions: Array<readonly [characters: number, atSample: number]> = []
    let isStopped = false
    let pushed = 0
    let written = 0
    let [characters, atSample] = [0, 0]
    const changed = Effect.unsafeMakeLatch()
    const isWritten = Effect.unsafeMakeLatch(true)

    const report = (count: number, at: number): void => {
      if (count <= characters && at <= atSample) return
      characters = Math.max(characters, count)
      atSample = Math.max(atSample, at)
      sink.align(characters, atSample)
    }
    const reportWritten = (): void => {
      const later = positions.findIndex(([, at]) => at > written)
      for (const [count, at] of positions.splice(0, later === -1 ? positions.length : later)) report(count, at)
    }
    const write: Effect.Effect<never> = Effect.suspend(() => {
      const samples = waiting.shift()
      if (samples === undefined) {
        isWritten.unsafeOpen()
        changed.unsafeClose()
        return Effect.zipRight(changed.await, write)
      }
      const hasRoom = sink.write(samples)
      written += samples.length
      reportWritten()
      return hasRoom ? write : Effect.zipRight(sink.drained, write)
    })
    yield* Effect.forkScoped(write)

    return {
      pushed: () => pushed,
      push: (samples) => {
        if (isStopped || samples.length === 0) return
        pushed += samples.length
        waiting.push(samples)
        isWritten.unsafeClose()
        changed.unsafeOpen()
      },
      align: (count, at) => {
        if (isStopped) return
        if (at <= written) report(count, at)
        else {
          const after = positions.findLastIndex(([, other]) => other <= at)
          positions.splice(after + 1, 0, [count, at])
        }
      },
      stop: () => {
        isStopped = true
        waiting = []
        positions = []
        isWritten.unsafeOpen()
      },
      finish: (count) =>
        Effect.map(isWritten.await, () => {
          // A vendor may say that a character ends after the end of its audio.
          for (const [before] of positions.splice(0)) report(Math.min(before, count), written)
          if (written > 0) report(count, written)
        })
    }
  }
)

/** Reads PCM16 (little-endian) that comes in pieces, which may be cut within a sample. */
export const pcm16Reader = (): ((bytes: Buffer) => Int16Array) => {
  const reader = new Pcm16Reader()
  return (bytes) => reader.read(bytes)
}

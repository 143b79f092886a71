import { Effect, type Scope } from "effect"
import { frameMs } from "../Audio.ts"
import { monotonicMillis } from "../MonotonicTime.ts"

/** The playout of a carrier for one call, in real time. */
export interface EmulatedPlayback {
  /** Audio to be played after what was added before. */
  readonly audio: (bytes: Uint8Array) => void
  /** Confirmed by `onMark` when the audio before it was played; at once when none waits. */
  readonly mark: (name: string) => void
  /** Drops what was not played, and confirms its marks, as carriers do it. */
  readonly clear: () => void
  /** What was played so far. */
  readonly heard: () => Uint8Array
  /** How often it ran out of audio that began less than 200 ms before: a gap that the caller hears. */
  readonly gaps: () => number
}

/** Audio that begins again within this time, in milliseconds, was interrupted. */
const gapMs = 200

/** Plays `frameBytes` every 20 ms. */
export const emulatedPlayback = (options: {
  readonly frameBytes: number
  readonly onMark: (name: string) => void
}): Effect.Effect<EmulatedPlayback, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { frameBytes, onMark } = options
    const clock = yield* Effect.clock
    const now = (): number => monotonicMillis(clock)
    let waiting: Array<number | string> = []
    const heard: Array<number> = []
    let gaps = 0
    let ranOutAt: number | undefined
    const confirm = (): void => {
      while (typeof waiting[0] === "string") onMark(String(waiting.shift()))
    }
    const playFrame = (): void => {
      confirm()
      if (waiting.length === 0) return
      for (let played = 0; played < frameBytes && waiting.length > 0; ) {
        const next = waiting.shift()
        if (typeof next === "number") {
          heard.push(next)
          played++
        } else if (next !== undefined) onMark(next)
      }
      confirm()
      if (waiting.length === 0) ranOutAt = now()
    }
    // By the time that has passed, because a busy machine wakes late.
    const begun = now()
    let frames = 0
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.sync(() => {
          const due = Math.floor((now() - begun) / frameMs)
          for (; frames < due; frames++) playFrame()
        }).pipe(Effect.zipRight(Effect.sleep(frameMs / 2)))
      )
    )
    return {
      audio: (bytes) => {
        const pause = waiting.length === 0 && ranOutAt !== undefined ? now() - ranOutAt : 0
        if (pause > frameMs && pause < gapMs) gaps++
        for (const byte of bytes) waiting.push(byte)
      },
      mark: (name) => {
        waiting.push(name)
        if (waiting.length === 1) confirm()
      },
      clear: () => {
        const marks = waiting.filter((one) => typeof one === "string")
        waiting = []
        ranOutAt = undefined
        for (const name of marks) onMark(name)
      },
      heard: () => Uint8Array.from(heard),
      gaps: () => gaps
    }
  })

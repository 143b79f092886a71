import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { type SpeechEvent, SpeechToText, SpeechToTextError } from "../../src/SpeechToText.ts"

/** Faults of a speech-to-text provider. */
export type SpeechToTextBug =
  | "hangs on open"
  | "ignores the interruption of open"
  | "throws on open"
  | "throws on odd frames"
  | "throws after its scope was closed"
  | "emits after its scope was closed"
  | "keeps a reference to frames"
  | "loses the rest of the transcript"
  | "emits the rest of the transcript after finish"
  | "never finishes"
  | "reorders words"
  | "repeats words"
  | "mixes sessions"
  | "transcribes nothing at 16 kHz"
  | "emits no EndOfTurn"
  | "emits EndOfTurn without declaring endpointing"
  | "emits EndOfTurn before the words"
  | "emits its confidence in percent"
  | "ignores flush"
  | "throws on update"
  | "stops after update"
  | "withdraws an end that it did not announce"
  | "ends a turn with other words than announced"
  | "has words beyond the audio"
  | "ends a final beyond the audio"
  | "leaks fibers"
  | "leaks timers"
  | "leaks at the peer"
  | "emits Failed twice"
  | "does not emit Failed"
  | "is unhealthy"

/** The behaviour of the peer. */
export type Peer = "works" | "refuses" | "hangs" | "fails"

export const pauseFrames = 10

/** The speech of the tests: each character is one frame with its code in every sample. */
export const speak = (text: string, sampleRate: number): Effect.Effect<ReadonlyArray<Int16Array>> =>
  Effect.succeed([...text].map((character) => new Int16Array(sampleRate / 50).fill(character.charCodeAt(0))))

/** Sessions that are open at the peer. */
export const heldAtPeer = { count: 0 }

/** Timers of the variant that leaks them, for clean-up. */
export const leakedTimers: Array<NodeJS.Timeout> = []

/** A provider in memory: silence ends an utterance, and events are emitted up to 20 ms later. */
export const referenceSpeechToText = (bug?: SpeechToTextBug, peer: Peer = "works"): Layer.Layer<SpeechToText> => {
  const is = (...bugs: ReadonlyArray<SpeechToTextBug>) => bug !== undefined && bugs.includes(bug)
  let shared = ""
  return Layer.succeed(SpeechToText, {
    id: "reference",
    capabilities: {
      languages: ["en-US"],
      endpointing: is("emits EndOfTurn without declaring endpointing") ? "none" : "provider",
      sampleRates: [8000, 16000],
      keyterms: false
    },
    health: Effect.succeed(is("is unhealthy") ? { healthy: false, reason: "always unhealthy" } : healthy),
    open: (options) => {
      if (is("throws on open")) throw new Error("no such language")
      return Effect.gen(function* () {
        if (is("ignores the interruption of open")) return yield* Effect.uninterruptible(Effect.never)
        if (is("hangs on open") || peer === "hangs") return yield* Effect.never
        if (peer === "refuses") {
          return yield* new SpeechToTextError({ reason: "wrong key", retryable: false })
        }
        if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
        if (is("leaks timers")) leakedTimers.push(setInterval(() => {}, 1_000_000))
        heldAtPeer.count++
        const state = { open: true, broken: false, text: "", silent: 0, frames: 0, pushedMs: 0, deaf: false }
        const kept: Array<Int16Array> = []
        const waiting: Array<SpeechEvent> = []
        let last: string | undefined

        const emit = (event: SpeechEvent) => {
          if (state.open || is("emits after its scope was closed")) options.onEvent(event)
        }
        const flush = Effect.sync(() => {
          for (const event of waiting.splice(0)) emit(event)
        })
        // Events come from another fiber, as they would from a socket.
        const emitter = Effect.forever(Effect.zipRight(Effect.sleep(20), flush))
        yield* is("emits after its scope was closed") ? Effect.forkDaemon(emitter) : Effect.forkScoped(emitter)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            state.open = false
            if (!is("leaks at the peer")) heldAtPeer.count--
          })
        )
        const fail = () => {
          state.broken = true
          if (is("does not emit Failed")) return
          const error = new SpeechToTextError({ reason: "the peer failed", retryable: true })
          waiting.push({ _tag: "Failed", error })
          if (is("emits Failed twice")) waiting.push({ _tag: "Failed", error })
        }
        const utter = (text: string) => {
          if (text === "") return
          const end: SpeechEvent = { _tag: "EndOfTurn" }
          if (is("emits EndOfTurn before the words")) waiting.push(end)
          const confidence = is("emits its confidence in percent") ? 90 : 0.9
          const until = is("has words beyond the audio") ? 3_600_000 : state.pushedMs
          const final = (words: string): SpeechEvent => ({
            _tag: "Final",
            text: words,
            confidence,
            words: [{ text: words, start: Math.max(0, state.pushedMs - 20), end: until }],
            ...(is("ends a final beyond the audio") ? { end: 3_600_000 } : {})
          })
          if (is("withdraws an end that it did not announce")) waiting.push({ _tag: "TurnResumed" })
          waiting.push({ _tag: "EagerEndOfTurn", text: "half of it" }, { _tag: "TurnResumed" })
          const announced = is("ends a turn with other words than announced") ? "other words" : text
          if (!is("reorders words", "repeats words")) waiting.push({ _tag: "EagerEndOfTurn", text: announced })
          if (is("reorders words") && last === undefined) last = text
          else {
            waiting.push(final(text))
            if (is("repeats words")) waiting.push(final(text))
            if (last !== undefined) waiting.push(final(last))
          }
          if (!is("emits no EndOfTurn", "emits EndOfTurn before the words")) waiting.push(end)
        }
        const take = () => {
          const text = is("mixes sessions") ? shared : state.text
          shared = ""
          state.text = ""
          return text
        }
        const read = (frame: Int16Array) => {
          if (state.deaf) return
          state.pushedMs += (frame.length / options.sampleRate) * 1000
          const code = frame[0] ?? 0
          if (code >= 32 && code < 127) {
            state.silent = 0
            state.text += String.fromCharCode(code)
            shared += String.fromCharCode(code)
            return
          }
          if (++state.silent === pauseFrames / 2) utter(take())
        }
        return {
          push: (frame: Int16Array) => {
            if (!state.open && is("throws after its scope was closed")) throw new Error("closed")
            if (!state.open || state.broken) return
            if (is("throws on odd frames") && frame.length % 80 !== 0) throw new Error("odd frame")
            if (is("transcribes nothing at 16 kHz") && options.sampleRate === 16000) return
            if (peer === "fails" && ++state.frames === 3) return fail()
            if (!is("keeps a reference to frames")) return read(frame)
            kept.push(frame)
            if (kept.length > 1) read(kept[kept.length - 2] ?? frame)
          },
          flush: () => {
            if (state.open && !state.broken && !is("ignores flush")) utter(take())
          },
          update: () => {
            if (is("throws on update")) throw new Error("no such option")
            state.deaf = is("stops after update")
            return true
          },
          finish: Effect.gen(function* () {
            if (is("never finishes")) return yield* Effect.never
            if (!state.open || state.broken) return yield* flush
            if (!is("loses the rest of the transcript")) utter(take())
            if (!is("emits the rest of the transcript after finish")) yield* flush
          })
        }
      })
    }
  })
}

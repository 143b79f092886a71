import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { type SpeechEvent, SpeechToText, SpeechToTextError } from "../../src/SpeechToText.ts"

/** What a recognizer can do wrong. */
export type SpeechToTextBug =
  | "hangs on open"
  | "open ignores interruption"
  | "throws on open"
  | "throws on odd frames"
  | "throws after close"
  | "tells after close"
  | "keeps frames"
  | "loses the last words"
  | "finishes late"
  | "never finishes"
  | "reorders"
  | "repeats"
  | "mixes sessions"
  | "deaf at 16 kHz"
  | "no end of turn"
  | "undeclared end of turn"
  | "end of turn first"
  | "confidence in percent"
  | "leaks fibers"
  | "leaks timers"
  | "leaks at the peer"
  | "fails twice"
  | "silent about failure"
  | "unhealthy"

/** What the peer does. */
export type Peer = "well" | "refuses" | "hangs" | "breaks"

export const pauseFrames = 10

/** A voice: each character is one frame, its code in every sample. */
export const speak = (text: string, sampleRate: number): Effect.Effect<ReadonlyArray<Int16Array>> =>
  Effect.succeed([...text].map((character) => new Int16Array(sampleRate / 50).fill(character.charCodeAt(0))))

/** Sessions that the peer of the leaking variant still holds. */
export const heldAtPeer = { count: 0 }

/** Timers of the variant that leaks them, for whoever cleans up. */
export const leakedTimers: Array<NodeJS.Timeout> = []

/** A recognizer of that voice, wholly in memory: silence ends an utterance, and words are told 20 ms after they were heard. */
export const referenceSpeechToText = (bug?: SpeechToTextBug, peer: Peer = "well"): Layer.Layer<SpeechToText> => {
  const is = (...bugs: ReadonlyArray<SpeechToTextBug>) => bug !== undefined && bugs.includes(bug)
  let shared = ""
  return Layer.succeed(SpeechToText, {
    id: "reference",
    capabilities: {
      languages: ["en-US"],
      endpointing: is("undeclared end of turn") ? "none" : "provider",
      sampleRates: [8000, 16000],
      keyterms: false
    },
    health: Effect.succeed(is("unhealthy") ? { healthy: false, reason: "never is" } : healthy),
    open: (options) => {
      if (is("throws on open")) throw new Error("no such language")
      return Effect.gen(function* () {
        if (is("open ignores interruption")) return yield* Effect.uninterruptible(Effect.never)
        if (is("hangs on open") || peer === "hangs") return yield* Effect.never
        if (peer === "refuses") {
          return yield* new SpeechToTextError({ reason: "wrong key", retryable: false })
        }
        if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
        if (is("leaks timers")) leakedTimers.push(setInterval(() => {}, 1_000_000))
        heldAtPeer.count++
        const state = { open: true, broken: false, text: "", silent: 0, frames: 0 }
        const kept: Array<Int16Array> = []
        const waiting: Array<SpeechEvent> = []
        let last: string | undefined

        const tell = (event: SpeechEvent) => {
          if (state.open || is("tells after close")) options.onEvent(event)
        }
        const flush = Effect.sync(() => {
          for (const event of waiting.splice(0)) tell(event)
        })
        // Events come from a fiber of the session's own, as they would from a socket.
        const teller = Effect.forever(Effect.zipRight(Effect.sleep(20), flush))
        yield* is("tells after close") ? Effect.forkDaemon(teller) : Effect.forkScoped(teller)
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            state.open = false
            if (!is("leaks at the peer")) heldAtPeer.count--
          })
        )
        const fail = () => {
          state.broken = true
          if (is("silent about failure")) return
          const error = new SpeechToTextError({ reason: "the peer broke", retryable: true })
          waiting.push({ _tag: "Failed", error })
          if (is("fails twice")) waiting.push({ _tag: "Failed", error })
        }
        const utter = (text: string) => {
          if (text === "") return
          const end: SpeechEvent = { _tag: "EndOfTurn" }
          if (is("end of turn first")) waiting.push(end)
          const confidence = is("confidence in percent") ? 90 : 0.9
          const final = (words: string): SpeechEvent => ({ _tag: "Final", text: words, confidence })
          if (is("reorders") && last === undefined) last = text
          else {
            waiting.push(final(text))
            if (is("repeats")) waiting.push(final(text))
            if (last !== undefined) waiting.push(final(last))
          }
          if (!is("no end of turn", "end of turn first")) waiting.push(end)
        }
        const take = () => {
          const text = is("mixes sessions") ? shared : state.text
          shared = ""
          state.text = ""
          return text
        }
        const read = (frame: Int16Array) => {
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
            if (!state.open && is("throws after close")) throw new Error("closed")
            if (!state.open || state.broken) return
            if (is("throws on odd frames") && frame.length % 80 !== 0) throw new Error("odd frame")
            if (is("deaf at 16 kHz") && options.sampleRate === 16000) return
            if (peer === "breaks" && ++state.frames === 3) return fail()
            if (!is("keeps frames")) return read(frame)
            kept.push(frame)
            if (kept.length > 1) read(kept[kept.length - 2] ?? frame)
          },
          finish: Effect.gen(function* () {
            if (is("never finishes")) return yield* Effect.never
            if (!state.open || state.broken) return yield* flush
            if (!is("loses the last words")) utter(take())
            if (!is("finishes late")) yield* flush
          })
        }
      })
    }
  })
}

import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { TextToSpeech, TextToSpeechError } from "../../src/TextToSpeech.ts"

/** What a synthesizer can do wrong. */
export type TextToSpeechBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "writes after interruption"
  | "ignores interruption"
  | "ignores a full sink"
  | "never goes on after a full sink"
  | "completes early"
  | "reorders"
  | "mixes passages"
  | "silent at 16 kHz"
  | "hangs on empty text"
  | "aligns backwards"
  | "aligns beyond the text"
  | "dies of an unknown voice"
  | "silent voice"
  | "leaks fibers"
  | "completes though the peer broke"
  | "hangs when the peer broke"
  | "same name twice"

/** What the peer does. */
export type Peer = "well" | "refuses" | "hangs" | "breaks"

/** Understands the reference voice. */
export const hear = (samples: Int16Array, sampleRate: number): Effect.Effect<string> => {
  const length = sampleRate / 50
  const characters = Array.from({ length: Math.floor(samples.length / length) }, (_, index) =>
    String.fromCharCode(samples[index * length] ?? 0)
  )
  return Effect.succeed(characters.join(""))
}

/** A voice wholly in memory: each character is one 20 ms chunk, its code in every sample, and takes 1 ms to make. */
export const referenceTextToSpeech = (bug?: TextToSpeechBug, peer: Peer = "well"): Layer.Layer<TextToSpeech> => {
  const is = (...bugs: ReadonlyArray<TextToSpeechBug>) => bug !== undefined && bugs.includes(bug)
  let shared: Array<string> = []
  return Layer.succeed(TextToSpeech, {
    id: "reference",
    voices: ["Sarah", is("same name twice") ? "Sarah" : "Tom"].map((name) => ({
      name,
      languages: "*" as const,
      gender: "neutral" as const
    })),
    sampleRates: [8000, 16000],
    health: Effect.succeed(healthy),
    synthesize: ({ sampleRate, sink, text, voice }) => {
      if (is("throws")) throw new Error("no such text")
      const broken = new TextToSpeechError({ reason: "the peer broke", retryable: true })
      const speech = Effect.gen(function* () {
        if (is("dies")) return yield* Effect.die("x is undefined")
        if (is("hangs") || peer === "hangs") return yield* Effect.never
        if (is("fails")) return yield* broken
        if (peer === "refuses") return yield* broken
        if (is("dies of an unknown voice") && voice !== "Sarah" && voice !== "Tom") return yield* Effect.die(voice)
        if (is("hangs on empty text") && text === "") return yield* Effect.never
        if (is("silent voice") && voice === "Tom") return
        if (is("silent at 16 kHz") && sampleRate === 16000) return
        if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
        const characters = is("reorders") ? [...text].reverse() : [...text]
        if (is("mixes passages")) {
          shared.push(...characters)
          yield* Effect.sleep(5)
        }
        const todo = is("mixes passages") ? shared : characters
        shared = []
        let said = 0
        while (todo.length > 0) {
          const character = todo.shift() ?? ""
          yield* Effect.sleep(1)
          const room = sink.write(new Int16Array(sampleRate / 50).fill(character.charCodeAt(0)))
          said++
          sink.align(is("aligns backwards") ? text.length - said : is("aligns beyond the text") ? said * 2 : said)
          if (!room && !is("ignores a full sink")) {
            yield* sink.drained
            if (is("never goes on after a full sink")) return yield* Effect.never
          }
          if (peer === "breaks" && said === 5) {
            if (is("completes though the peer broke")) return
            if (is("hangs when the peer broke")) return yield* Effect.never
            return yield* broken
          }
        }
      })
      if (is("completes early")) return Effect.asVoid(Effect.forkDaemon(speech))
      if (is("ignores interruption")) return Effect.uninterruptible(speech)
      if (!is("writes after interruption")) return speech
      return Effect.onInterrupt(speech, () =>
        Effect.forkDaemon(
          Effect.zipRight(
            Effect.sleep(30),
            Effect.sync(() => sink.write(new Int16Array(160)))
          )
        )
      )
    }
  })
}

import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { byText } from "../../src/SpeechTurn.ts"
import { TextToSpeech, TextToSpeechError } from "../../src/TextToSpeech.ts"

/** Faults of a text-to-speech provider. */
export type TextToSpeechBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "writes after interruption"
  | "ignores interruption"
  | "ignores a full sink"
  | "never continues after a full sink"
  | "completes before all audio is written"
  | "reorders audio"
  | "mixes requests"
  | "writes nothing at 16 kHz"
  | "hangs on empty text"
  | "aligns backwards"
  | "aligns beyond the text"
  | "aligns beyond the audio"
  | "forgets later texts"
  | "is done before it is ended"
  | "writes without text"
  | "never ends without text"
  | "dies on an unknown voice"
  | "has a voice without audio"
  | "leaks fibers"
  | "completes although the peer failed"
  | "hangs when the peer fails"
  | "declares a voice twice"

/** The behaviour of the peer. */
export type Peer = "works" | "refuses" | "hangs" | "fails"

/** Transcribes the audio of the reference provider. */
export const hear = (samples: Int16Array, sampleRate: number): Effect.Effect<string> => {
  const length = sampleRate / 50
  const characters = Array.from({ length: Math.floor(samples.length / length) }, (_, index) =>
    String.fromCharCode(samples[index * length] ?? 0)
  )
  return Effect.succeed(characters.join(""))
}

/** A provider in memory: each character is one 20 ms chunk with its code in every sample, and takes 1 ms to make. */
export const referenceTextToSpeech = (bug?: TextToSpeechBug, peer: Peer = "works"): Layer.Layer<TextToSpeech> => {
  const is = (...bugs: ReadonlyArray<TextToSpeechBug>) => bug !== undefined && bugs.includes(bug)
  let shared: Array<string> = []
  const openTurn = byText(({ sampleRate, sink, text, voice }) => {
    if (is("throws")) throw new Error("no such text")
    const broken = new TextToSpeechError({ reason: "the peer failed", retryable: true })
    const speech = Effect.gen(function* () {
      if (is("dies")) return yield* Effect.die("x is undefined")
      if (is("hangs") || peer === "hangs") return yield* Effect.never
      if (is("fails")) return yield* broken
      if (peer === "refuses") return yield* broken
      if (is("dies on an unknown voice") && voice !== "Sarah" && voice !== "Tom") return yield* Effect.die(voice)
      if (is("hangs on empty text") && text === "") return yield* Effect.never
      if (is("has a voice without audio") && voice === "Tom") return
      if (is("writes nothing at 16 kHz") && sampleRate === 16000) return
      if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
      const characters = is("reorders audio") ? [...text].reverse() : [...text]
      if (is("mixes requests")) {
        shared.push(...characters)
        yield* Effect.sleep(5)
      }
      const todo = is("mixes requests") ? shared : characters
      shared = []
      let said = 0
      while (todo.length > 0) {
        const character = todo.shift() ?? ""
        yield* Effect.sleep(1)
        const room = sink.write(new Int16Array(sampleRate / 50).fill(character.charCodeAt(0)))
        said++
        sink.align(
          is("aligns backwards") ? text.length - said : is("aligns beyond the text") ? said * 2 : said,
          (said + (is("aligns beyond the audio") ? 1 : 0)) * (sampleRate / 50)
        )
        if (!room && !is("ignores a full sink")) {
          yield* sink.drained
          if (is("never continues after a full sink")) return yield* Effect.never
        }
        if (peer === "fails" && said === 5) {
          if (is("completes although the peer failed")) return
          if (is("hangs when the peer fails")) return yield* Effect.never
          return yield* broken
        }
      }
    })
    if (is("completes before all audio is written")) return Effect.asVoid(Effect.forkDaemon(speech))
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
  })
  return Layer.succeed(TextToSpeech, {
    id: "reference",
    voices: ["Sarah", is("declares a voice twice") ? "Sarah" : "Tom"].map((name) => ({
      name,
      languages: "*" as const,
      gender: "neutral" as const
    })),
    sampleRates: [8000, 16000],
    health: Effect.succeed(healthy),
    open: (request) =>
      Effect.map(openTurn(request), (turn) => {
        let texts = 0
        return {
          say: (text) => {
            if (texts++ > 0 && is("forgets later texts")) return
            turn.say(text)
            if (is("is done before it is ended")) turn.end()
          },
          end: () => {
            if (texts === 0 && is("writes without text")) request.sink.write(new Int16Array(160))
            if (texts > 0 || !is("never ends without text")) turn.end()
          },
          done: turn.done
        }
      })
  })
}

import { type Context, Deferred, Effect, type Scope } from "effect"
import type { AudioSink, SpeechRequest, SpeechTurn, TextToSpeech, TextToSpeechError } from "./TextToSpeech.ts"

/** A whole text to speak. */
export type TextRequest = SpeechRequest & { readonly text: string }

type Synthesize = (request: TextRequest) => Effect.Effect<void, TextToSpeechError>

const openTurn = Effect.fnUntraced(function* (synthesize: Synthesize, request: SpeechRequest) {
  const { sink } = request
  const texts: Array<string> = []
  let isEnded = false
  const changed = Effect.unsafeMakeLatch()
  /** Characters and samples of the pieces before the current one. */
  let characters = 0
  let samples = 0
  const done = yield* Deferred.make<void, TextToSpeechError>()

  const piece = (text: string) => {
    const [charactersBefore, samplesBefore] = [characters, samples]
    let aligned = 0
    const ofPiece: AudioSink = {
      write: (written) => {
        samples += written.length
        return sink.write(written)
      },
      align: (count, atSample) => {
        aligned = count
        sink.align(charactersBefore + count, samplesBefore + atSample)
      },
      drained: sink.drained
    }
    return Effect.zipRight(
      Effect.suspend(() => synthesize({ ...request, text, sink: ofPiece })),
      Effect.sync(() => {
        characters += text.length
        // So that the pieces are told apart, also with a provider that does not align.
        if (aligned < text.length && samples > samplesBefore) sink.align(characters, samples)
      })
    )
  }
  const speak: Effect.Effect<void, TextToSpeechError> = Effect.suspend(() => {
    const next = texts.shift()
    if (next !== undefined) return Effect.zipRight(piece(next), speak)
    if (isEnded) return Effect.void
    changed.unsafeClose()
    return Effect.zipRight(changed.await, speak)
  })
  yield* Effect.forkScoped(Deferred.complete(done, speak))
  const turn: SpeechTurn = {
    say: (text) => {
      texts.push(text)
      changed.unsafeOpen()
    },
    end: () => {
      isEnded = true
      changed.unsafeOpen()
    },
    done: Deferred.await(done)
  }
  return turn
})

/**
 * The `open` of a provider that synthesizes one text at a time. `synthesize` is called for each piece of text of a turn,
 * one after the other, with a sink that counts from the beginning of that piece. It completes when all audio of the
 * piece was written, which aligns the end of the piece, and is interrupted when the turn is cancelled.
 */
export const byText =
  (synthesize: (request: TextRequest) => Effect.Effect<void, TextToSpeechError>) =>
  (request: SpeechRequest): Effect.Effect<SpeechTurn, never, Scope.Scope> =>
    openTurn(synthesize, request)

/** A text in parts of at most `longest` UTF-16 units, cut after a space where there is one. */
export const textParts = (text: string, longest: number): ReadonlyArray<string> => {
  if (text.length <= longest) return [text]
  const space = text.lastIndexOf(" ", longest - 1)
  const end = space > 0 ? space + 1 : longest
  return [text.slice(0, end), ...textParts(text.slice(end), longest)]
}

/** Speaks one text as a whole turn. Completes when all its audio was written. */
export const speakText = (
  provider: Context.Tag.Service<TextToSpeech>,
  { text, ...request }: TextRequest
): Effect.Effect<void, TextToSpeechError> =>
  Effect.scoped(
    Effect.flatMap(
      Effect.suspend(() => provider.open(request)),
      (turn) => {
        turn.say(text)
        turn.end()
        return turn.done
      }
    )
  )

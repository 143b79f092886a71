import type { ConnectionLost, SpeechContext } from "@svc/providers/ContextTurn"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import type { RequestFailed } from "@svc/providers/RequestFailed"
import { pcm16Reader, type StreamedAudio } from "@svc/providers/StreamedAudio"
import { Deferred, Effect, type Scope } from "effect"
import type { CallConnection } from "./CallConnection.ts"
import * as Message from "./SpeechMessage.ts"
import { WordPositions } from "./WordPositions.ts"

/** The vendor ends a context a second after its last audio: somewhat before that it takes no more text. */
const longestPauseMs = 700

/** The context that takes text. */
interface Current {
  id: string
  /** The sample of the turn at which it began. */
  readonly from: number
  /** When it last gave audio. */
  audioAt: number | undefined
  /** What was sent since then; undefined: nothing, not even its end. */
  unanswered: ReadonlyArray<string> | undefined
}

/**
 * A turn at the vendor: one context, and another one for the text after each pause in which the vendor ended it. Closing
 * the scope cancels it.
 */
export const turnContexts: (options: {
  readonly connection: CallConnection
  readonly audio: StreamedAudio
  readonly generation: Message.Generation
  /** Characters were sent. */
  readonly onSent: (characters: number) => void
}) => Effect.Effect<SpeechContext, never, Scope.Scope> = Effect.fnUntraced(function* (options) {
  const { audio, connection, generation, onSent } = options
  const clock = yield* Effect.clock
  const now = () => monotonicMillis(clock)
  const finished = yield* Deferred.make<void, RequestFailed | ConnectionLost>()
  const positions = new WordPositions()
  let current: Current | undefined
  /** White space before the next text: the vendor takes no text without words. */
  let space = ""
  let isEnded = false

  const begin = (): Current => {
    const read = pcm16Reader()
    const begun: Current = { id: "", from: audio.pushed(), audioAt: undefined, unanswered: undefined }
    begun.id = connection.begin({
      onMessage: (message) => {
        if (message._tag === "Chunk") {
          begun.audioAt = now()
          begun.unanswered = undefined
          audio.push(read(message.audio))
        }
        if (message._tag !== "Words") return
        for (const word of message.words) {
          const characters = positions.next(word)
          const atSample = begun.from + Math.round(word.end * generation.output_format.sample_rate)
          if (characters !== undefined) audio.align(characters, atSample)
        }
      },
      onEnd: (failure) => {
        if (current === begun) current = undefined
        const { audioAt, unanswered } = begun
        // It had ended by itself when this was sent.
        if (audioAt !== undefined && unanswered !== undefined && failure?._tag !== "ConnectionLost") repeat(unanswered)
        else if (failure !== undefined || isEnded) Deferred.unsafeDone(finished, failure ?? Effect.void)
      }
    })
    return begun
  }
  const send = (input: string): void => {
    current ??= begin()
    current.unanswered = [...(current.unanswered ?? []), input]
    connection.send(Message.input(generation, current.id, input))
  }
  const sendEnd = (): void => {
    if (current === undefined) Deferred.unsafeDone(finished, Effect.void)
    else {
      current.unanswered ??= []
      connection.send(Message.end(generation, current.id))
    }
  }
  const repeat = (inputs: ReadonlyArray<string>): void => {
    for (const input of inputs) send(input)
    if (isEnded) sendEnd()
  }
  /** Leaves a context of which all is spoken and which the vendor ends, or has just ended. */
  const leaveIfSpoken = (): void => {
    if (current?.audioAt === undefined || !positions.isComplete || now() - current.audioAt < longestPauseMs) return
    connection.forget(current.id)
    current = undefined
  }
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      if (current === undefined) return
      connection.send(Message.cancel(current.id))
      connection.forget(current.id)
    })
  )
  return {
    say: (text) => {
      leaveIfSpoken()
      positions.append(text)
      const input = space + text.toWellFormed()
      if (input.trim() === "") {
        space = input
        return
      }
      space = ""
      onSent(input.length)
      send(input)
    },
    end: () => {
      leaveIfSpoken()
      isEnded = true
      sendEnd()
    },
    finished: Deferred.await(finished)
  }
})

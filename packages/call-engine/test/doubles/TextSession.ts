import { Effect, type Scope } from "effect"
import type { ConversationServices } from "../../src/session/ConversationServices.ts"
import * as ConversationSession from "../../src/session/ConversationSession.ts"

/** A conversation in text. */
export interface TextSession extends ConversationSession.ConversationSession {
  /** Says a text as the caller and ends the turn. */
  readonly say: (text: string) => void
  /** What the agent said, in order. */
  readonly spoken: ReadonlyArray<string>
  /** Why the agent or the session hung up; undefined until then. */
  readonly hangup: () => string | undefined
}

/** The shell of a text session: no leg and no audio; every utterance counts as played at once. */
export const make = (
  services: ConversationServices,
  call: ConversationSession.SessionCall
): Effect.Effect<TextSession, never, Scope.Scope> =>
  Effect.gen(function* () {
    const spoken: Array<string> = []
    let reason: string | undefined
    const session = yield* ConversationSession.make(services, call, ({ feed }) => ({
      onAnswered: () => {},
      close: () => {
        reason = "error"
      },
      perform: (command) => {
        switch (command._tag) {
          case "Answer":
          case "Dial":
            feed({ _tag: "Answered" })
            return
          case "StopListening":
            feed({ _tag: "RecognizerFinished" })
            return
          case "Speak":
            spoken.push(command.text)
            feed({ _tag: "SpeechStarted", id: command.id })
            feed({ _tag: "SpeechPlayed", id: command.id })
            return
          case "StopSpeaking":
            feed({ _tag: "SpeechCleared", cuts: [] })
            return
          case "Transfer":
            feed({ _tag: "TransferProgressed", state: "failed", reason: "text sessions cannot transfer" })
            return
          case "Hangup":
            reason = command.reason
            return
          case "Listen":
          case "TransferOver":
            return
        }
      }
    }))
    return {
      ...session,
      spoken,
      hangup: () => reason,
      say: (text) => {
        session.feed({ _tag: "CallerFinal", text })
        session.feed({ _tag: "CallerEndOfTurn" })
      }
    }
  })

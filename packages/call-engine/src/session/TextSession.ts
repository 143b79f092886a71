import type { Command } from "@svc/conversation/Command"
import type { Timer } from "@svc/conversation/Timer"
import { Effect, type Scope } from "effect"
import type { ConversationServices } from "./ConversationServices.ts"
import * as ConversationSession from "./ConversationSession.ts"

/** A conversation in text that is live in this process. */
export interface TextSession extends ConversationSession.ConversationSession {
  /** Says a text as the caller. While digits are awaited, the time for them passes with it. */
  readonly say: (text: string) => void
  readonly press: (digits: string) => void
}

/** Limits of the work of models, tools and the end. All others wait for the caller, who is given any time here. */
const working: ReadonlySet<Timer> = new Set([
  "model",
  "extraction",
  "post_call_sms",
  "farewell",
  "drain",
  "transfer",
  "knowledge",
  "keys"
])

/**
 * Runs a conversation in text. There is no leg and no audio: what the agent speaks counts as played at once, and a
 * transfer as completed. Time that passes between two messages of the caller is not part of the conversation.
 */
export const make = (
  services: ConversationServices,
  call: Omit<ConversationSession.SessionCall, "runsTimer">,
  onStep: (session: ConversationSession.ConversationSession, commands: ReadonlyArray<Command>) => void = () => {}
): Effect.Effect<TextSession, never, Scope.Scope> =>
  Effect.gen(function* () {
    const shellOf = (session: ConversationSession.ConversationSession): ConversationSession.Shell => {
      const { feed } = session
      return {
        onAnswered: () => {},
        onStep: (commands) => onStep(session, commands),
        close: () => {},
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
              feed({ _tag: "SpeechStarted", id: command.id })
              feed({ _tag: "SpeechPlayed", id: command.id })
              return
            case "StopSpeaking":
              feed({ _tag: "SpeechCleared", cuts: [] })
              return
            case "Transfer":
              feed({ _tag: "TransferProgressed", state: "completed", reason: null })
              feed({ _tag: "CallerHungUp" })
              return
            case "EndSpeech":
            case "ResumeSpeaking":
            case "DropSpeech":
            case "PressKeys":
            case "Hangup":
            case "Listen":
            case "TransferOver":
              return
          }
        }
      }
    }
    const session = yield* ConversationSession.make(
      services,
      { ...call, runsTimer: (timer) => timer.startsWith("tool:") || working.has(timer) },
      shellOf
    )
    return {
      ...session,
      say: (text) => {
        const isGathering = session.state().gathers[0]?.stage === "collecting"
        session.feed({ _tag: "CallerFinal", text })
        session.feed({ _tag: "CallerEndOfTurn" })
        // A message is complete: no silence has to end it.
        if (session.state().timers.includes("endpoint")) session.feed({ _tag: "TimerFired", timer: "endpoint" })
        if (isGathering) session.feed({ _tag: "TimerFired", timer: "gather" })
      },
      press: (digits) => {
        for (const digit of digits) session.feed({ _tag: "Dtmf", digit })
      }
    }
  })

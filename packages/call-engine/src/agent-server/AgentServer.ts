import type { CallAgent } from "@svc/agents/Agents"
import * as StartedAnswer from "@svc/conversation/answers/StartedAnswer"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { Effect, Either } from "effect"
import type { Feed } from "../session/Feed.ts"
import type { SessionServices } from "../session/SessionServices.ts"
import type { CallbackExchange } from "./CallbackExchange.ts"
import * as TranscriptTeller from "./TranscriptUpdates.ts"

/** What a call asks its agent's server, and tells it (spec 6.6). The answers are fed to the conversation. */
export interface AgentServer {
  readonly fetchConfig: (command: CommandOf<"FetchConfig">) => Effect.Effect<void>
  readonly invokeTool: (command: CommandOf<"InvokeTool">) => Effect.Effect<void>
  /** Returns at once; what is told arrives in order. */
  readonly tellTranscript: (command: CommandOf<"TellTranscript">) => void
}

export const make = (options: {
  /** The call's numeric id. */
  readonly callId: number
  readonly agent: CallAgent
  readonly facts: Facts
  readonly services: SessionServices
  readonly feed: Feed
}): AgentServer => {
  const { agent, facts, feed, services } = options
  const { callbacks, journal } = services
  const tell = (exchange: CallbackExchange): void => journal.exchange({ ...exchange, call_id: options.callId })
  const teller = TranscriptTeller.make((body) => callbacks.transcriptUpdated(agent, body, tell), services.background)

  return {
    fetchConfig: ({ gathered }) =>
      Effect.flatMap(
        Effect.either(
          callbacks.callStarted(
            agent,
            {
              event: "call.started",
              call_id: facts.call_id,
              from: facts.from,
              to: facts.to,
              agent_id: facts.agent_id,
              gathered_digit: gathered?.gathered_digit ?? null,
              gathered_input: gathered?.gathered_input ?? null,
              gather_status: gathered?.gather_status ?? null
            },
            tell
          )
        ),
        (answer) => {
          const told = Either.match(answer, {
            onLeft: ({ reason }) => ({ _tag: "ConfigFailed" as const, reason }),
            onRight: (body) => StartedAnswer.read(body, facts.agent, services.speaks, gathered !== undefined)
          })
          const log = Effect.forEach(
            StartedAnswer.complaintsOf(told),
            (complaint) => Effect.logWarning(`The answer to call.started of ${facts.call_id}: ${complaint}`),
            { discard: true }
          )
          return Effect.map(log, () => feed(told))
        }
      ),
    invokeTool: (command) =>
      Effect.match(
        callbacks.toolCall(
          agent,
          {
            event: "tool.call",
            tool_call_id: command.id,
            name: command.name,
            arguments: command.arguments,
            call_id: facts.call_id,
            from: facts.from
          },
          tell
        ),
        {
          onSuccess: (result) => feed({ _tag: "ToolAnswered", id: command.id, result }),
          onFailure: ({ reason }) => feed({ _tag: "ToolFailed", id: command.id, reason })
        }
      ),
    tellTranscript: (command) =>
      teller.tell({
        event: "transcript.updated",
        call_id: facts.call_id,
        role: command.role,
        content: command.content,
        timestamp: command.timestamp
      })
  }
}

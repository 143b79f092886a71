import type { CallAgent } from "@svc/agents/Agents"
import * as StartedAnswer from "@svc/conversation/answers/StartedAnswer"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts, UntimedInput } from "@svc/conversation/Input"
import { Effect, Either } from "effect"
import type { ConversationServices, Feed } from "../session/ConversationServices.ts"
import { preparedPart, preparedResult } from "../session/PreparedInput.ts"
import type { ServerRequestFailed } from "./AgentServerClient.ts"
import { type ServerRequest, storyOf } from "./ServerRequest.ts"
import * as TranscriptUpdates from "./TranscriptUpdates.ts"

/**
 * The requests of one call to its agent's server; answers are fed to the conversation. See
 * docs/reference/agent-server.md.
 */
export interface AgentServer {
  readonly fetchConfig: (command: CommandOf<"FetchConfig">) => Effect.Effect<void>
  readonly invokeTool: (command: CommandOf<"InvokeTool">) => Effect.Effect<void>
  /** Returns at once; transcripts arrive in order. */
  readonly sendTranscript: (command: CommandOf<"TellTranscript">) => void
}

export const make = (options: {
  /** The call's numeric id. */
  readonly callId: number
  readonly agent: CallAgent
  readonly facts: Facts
  readonly services: Pick<ConversationServices, "abilities" | "agentServer" | "background" | "serverRequests">
  readonly feed: Feed
}): AgentServer => {
  const { agent, facts, feed } = options
  const { abilities, agentServer, background, serverRequests } = options.services
  const onDone = (request: ServerRequest): void => serverRequests.add({ ...request, call_id: options.callId })
  /** Like `onDone`, and remembers the request. */
  const tracked = () => {
    let done: ServerRequest | undefined
    return {
      onDone: (request: ServerRequest): void => {
        done = request
        onDone(request)
      },
      /** The request and what is wrong with its answer, in a sentence without secrets. */
      story: (problem: string): string =>
        done === undefined
          ? problem
          : [storyOf(agent.server_url, done), ...(problem === `status ${done.status}` ? [] : [problem])].join(": ")
    }
  }
  const faultOf = ({ cause, detail, reason }: ServerRequestFailed, story: (problem: string) => string) => ({
    reason,
    fault: { cause, what: story(detail === undefined ? reason : `${reason}; ${detail}`) }
  })
  const last = tracked()
  const transcripts = TranscriptUpdates.make(
    (body) => agentServer.transcriptUpdated(agent, body, last.onDone),
    background,
    (failure, dropped) => feed({ _tag: "TranscriptFailed", count: 1 + dropped, ...faultOf(failure, last.story) })
  )

  return {
    fetchConfig: ({ gathered }) => {
      const { onDone, story } = tracked()
      return Effect.flatMap(
        Effect.either(
          agentServer.callStarted(
            agent,
            {
              event: "call.started",
              call_id: facts.call_id,
              from: facts.from,
              to: facts.to,
              agent_id: facts.agent_id,
              gathered_digit: gathered?.gathered_digit ?? null,
              gathered_input: gathered?.gathered_input ?? null,
              gather_status: gathered?.gather_status ?? null,
              ...(facts.headers === undefined ? {} : { headers: facts.headers })
            },
            onDone
          )
        ),
        (answer) => {
          const input = Either.match(answer, {
            onLeft: (failure) => ({ _tag: "ConfigFailed" as const, ...faultOf(failure, story) }),
            onRight: (body) => {
              const read = StartedAnswer.read(body, facts.agent, abilities, gathered !== undefined)
              if (read._tag !== "ConfigFailed") return read
              return { ...read, fault: { cause: "fields" as const, what: story(read.reason) } }
            }
          })
          const problems = StartedAnswer.problemsOf(input)
          const log =
            problems === undefined
              ? Effect.void
              : Effect.logWarning(`The answer to call.started of ${facts.call_id}: ${problems}`)
          const prepared: Effect.Effect<UntimedInput> =
            input._tag === "ConfigAnswered"
              ? Effect.map(preparedPart(input.config, 1), (config) => ({ ...input, config }))
              : Effect.succeed(input)
          return Effect.zipRight(log, Effect.map(prepared, feed))
        }
      )
    },
    invokeTool: (command) => {
      const { onDone, story } = tracked()
      return Effect.match(
        Effect.flatMap(
          agentServer.toolCall(
            agent,
            {
              event: "tool.call",
              tool_call_id: command.id,
              name: command.name,
              arguments: command.arguments,
              call_id: facts.call_id,
              from: facts.from
            },
            onDone
          ),
          preparedResult
        ),
        {
          onSuccess: (result) => feed({ _tag: "ToolAnswered", id: command.id, result }),
          onFailure: (failure) => feed({ _tag: "ToolFailed", id: command.id, ...faultOf(failure, story) })
        }
      )
    },
    sendTranscript: (command) =>
      transcripts.send({
        event: "transcript.updated",
        call_id: facts.call_id,
        role: command.role,
        content: command.content,
        timestamp: command.timestamp
      })
  }
}

import type { CallAgent } from "@svc/agents/Agents"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { Effect } from "effect"
import { extract } from "./Extractor.ts"
import type { Feed } from "./Feed.ts"
import type { SessionServices } from "./SessionServices.ts"

/** What the platform does for a call by itself: text messages, and the values that are drawn from it. Outcomes are fed back. */
export interface Duties {
  readonly sendSms: (command: CommandOf<"SendSms">) => Effect.Effect<void>
  readonly extract: (command: CommandOf<"Extract">) => Effect.Effect<void>
}

export const make = (options: {
  readonly agent: CallAgent
  readonly facts: Facts
  readonly services: SessionServices
  readonly feed: Feed
  readonly variables: { readonly [name: string]: string }
}): Duties => {
  const { agent, facts, feed, services, variables } = options
  const draw = extract({ callId: facts.call_id, models: services.providers.languageModel, variables })
  return {
    sendSms: (command) =>
      // `sms.sent` is written by whoever sends; what led to it is told before it.
      Effect.match(Effect.zipRight(services.journal.flush, services.messages.send(agent, facts, command)), {
        onSuccess: (message_id) =>
          command.id === "post_call"
            ? feed({ _tag: "PostCallSmsDone", failed: null })
            : feed({ _tag: "ToolAnswered", id: command.id, result: { status: "sent", to: command.to, message_id } }),
        onFailure: ({ reason }) =>
          command.id === "post_call"
            ? feed({ _tag: "PostCallSmsDone", failed: reason })
            : feed({ _tag: "ToolFailed", id: command.id, reason })
      }),
    extract: (command) =>
      Effect.match(draw(command), {
        onSuccess: (answer) => feed({ _tag: "Extracted", answer }),
        onFailure: ({ reason }) => feed({ _tag: "ExtractionFailed", reason })
      })
  }
}

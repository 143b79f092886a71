import type { CallAgent } from "@svc/agents/Agents"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { Sms } from "@svc/sms/Sms"
import { Cause, Context, Data, Effect, Layer, Option } from "effect"
import type { Journal } from "../record/LiveCallWriter.ts"
import type { Feed } from "./ConversationServices.ts"

/** A message was not sent; `reason` is one plain sentence, which the model gets as the tool's result. */
export class MessageFailed extends Data.TaggedError("MessageFailed")<{ readonly reason: string }> {}

/** The port through which calls send text messages. */
export class CallMessages extends Context.Tag("@svc/call-engine/CallMessages")<
  CallMessages,
  {
    /**
     * Returns the message's id once the network has accepted it. Sets no time limit; interrupting does not stop the
     * message. Sending again with the same id in a call has no effect.
     */
    readonly send: (agent: CallAgent, facts: Facts, sms: CommandOf<"SendSms">) => Effect.Effect<string, MessageFailed>
  }
>() {
  static readonly layer: Layer.Layer<CallMessages, never, Sms> = Layer.effect(
    CallMessages,
    Effect.map(Sms, (sms) => ({
      send: (agent, facts, { id, message, sender_name, to }) =>
        sms
          .sendInCall({
            call_id: facts.call_id,
            from: facts.from,
            numbers: [facts.to, facts.from],
            org_id: agent.org_id,
            project_id: agent.project_id,
            agent,
            id,
            to,
            message,
            sender_name
          })
          .pipe(
            Effect.map(({ message_id }) => message_id),
            // A defect fails only the message, not the call.
            Effect.catchAllCause((cause) =>
              Option.match(Cause.failureOption(cause), {
                onSome: ({ reason }) => new MessageFailed({ reason }),
                onNone: () =>
                  Effect.zipRight(
                    Effect.logError(`A text message of ${facts.call_id} could not be sent`, cause),
                    new MessageFailed({ reason: "the message could not be sent" })
                  )
              })
            )
          )
    }))
  )
}

/** Carries out `SendSms` and feeds the outcome back. */
export const messageSender = (options: {
  readonly agent: CallAgent
  readonly facts: Facts
  readonly services: { readonly journal: Journal; readonly messages: Context.Tag.Service<CallMessages> }
  readonly feed: Feed
}): ((command: CommandOf<"SendSms">) => Effect.Effect<void>) => {
  const { agent, facts, feed, services } = options
  return (command) =>
    // The events that led to the message are stored before `sms.sent`, which the sender writes.
    Effect.match(Effect.zipRight(services.journal.flush, services.messages.send(agent, facts, command)), {
      onSuccess: (message_id) =>
        command.id === "post_call"
          ? feed({ _tag: "PostCallSmsDone", failed: null })
          : feed({ _tag: "ToolAnswered", id: command.id, result: { status: "sent", to: command.to, message_id } }),
      onFailure: ({ reason }) =>
        command.id === "post_call"
          ? feed({ _tag: "PostCallSmsDone", failed: reason })
          : feed({ _tag: "ToolFailed", id: command.id, reason })
    })
}

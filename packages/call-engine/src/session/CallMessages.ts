import type { CallAgent } from "@svc/agents/Agents"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { Sms } from "@svc/sms/Sms"
import { Cause, Context, Data, Effect, Layer, Option } from "effect"

/** A message was not sent; `reason` is one plain sentence, which the model is told. */
export class MessageFailed extends Data.TaggedError("MessageFailed")<{ readonly reason: string }> {}

/** The text messages of calls: how the engine reaches whoever sends them. */
export class CallMessages extends Context.Tag("@svc/call-engine/CallMessages")<
  CallMessages,
  {
    /**
     * Gives the message's id once the network has taken it. May take as long as the network does: the caller keeps the time,
     * and when it gives up, the message goes on by itself. The same id of a call sends nothing twice.
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
            // A fault of ours costs the message, not the call.
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

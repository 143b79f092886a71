import { Effect, Queue, Stream } from "effect"
import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "../../src/Messaging.ts"
import type { Phone } from "../../src/testing/Phone.ts"

/** What a network can do wrong with messages. */
export type MessagingBug =
  | "sends no messages"
  | "sends messages twice"
  | "cuts messages"
  | "dies on messages"
  | "keeps refusals of messages to itself"
  | "brings no messages"

/** The number to which the network takes no message. */
export const refused = "+12025550000"

/** Messages wholly in memory, and the phone's end of them. */
export const referenceMessaging = (
  is: (bug: MessagingBug) => boolean
): Effect.Effect<{ readonly messaging: Messaging } & Pick<Required<Phone>, "messages" | "text">> =>
  Effect.gen(function* () {
    const incoming = yield* Queue.unbounded<IncomingSms>()
    const received: Array<OutgoingSms> = []
    let count = 0
    const deliver = (sms: OutgoingSms): void => {
      if (is("sends no messages")) return
      received.push(is("cuts messages") ? { ...sms, message: sms.message.slice(0, 12) } : sms)
      if (is("sends messages twice")) received.push(sms)
    }
    return {
      messaging: {
        send: (sms) => {
          if (is("dies on messages")) return Effect.die("no messages")
          if (sms.to === refused && !is("keeps refusals of messages to itself")) {
            return Effect.fail(new SmsFailed({ reason: "refused" }))
          }
          return Effect.sync(() => {
            deliver(sms)
            return { provider_message_id: `reference-${++count}` }
          })
        },
        incoming: Stream.fromQueue(incoming)
      },
      messages: () => received,
      text: (sms) =>
        is("brings no messages") ? Effect.void : Effect.asVoid(Queue.offer(incoming, { ...sms, id: `${++count}` }))
    }
  })

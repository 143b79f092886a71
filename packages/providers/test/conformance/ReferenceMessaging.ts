import { Effect, Queue, Stream } from "effect"
import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "../../src/Messaging.ts"
import type { Phone } from "../../src/testing/Phone.ts"

/** Faults of a network with text messages. */
export type MessagingBug =
  | "sends no text messages"
  | "sends text messages twice"
  | "truncates text messages"
  | "delivers a repeated text message again"
  | "answers a repeated text message anew"
  | "dies on text messages"
  | "ignores the refusal of text messages"
  | "emits no text messages"

/** The number to which the network refuses messages. */
export const refused = "+12025550000"

/** Text messages in memory, and the phone that sends and receives them. */
export const referenceMessaging = (
  is: (bug: MessagingBug) => boolean
): Effect.Effect<{ readonly messaging: Messaging } & Pick<Required<Phone>, "messages" | "text">> =>
  Effect.gen(function* () {
    const incoming = yield* Queue.unbounded<IncomingSms>()
    const received: Array<OutgoingSms> = []
    const answers = new Map<string, { readonly provider_message_id: string }>()
    let count = 0
    const deliver = (sms: OutgoingSms): void => {
      if (is("sends no text messages")) return
      received.push(is("truncates text messages") ? { ...sms, message: sms.message.slice(0, 12) } : sms)
      if (is("sends text messages twice")) received.push(sms)
    }
    return {
      messaging: {
        deliversOnce: true,
        send: (sms) => {
          if (is("dies on text messages")) return Effect.die("no messages")
          if (sms.to === refused && !is("ignores the refusal of text messages")) {
            return Effect.fail(new SmsFailed({ reason: "refused" }))
          }
          return Effect.sync(() => {
            const known = answers.get(sms.id)
            if (known === undefined || is("delivers a repeated text message again")) deliver(sms)
            if (known !== undefined && !is("answers a repeated text message anew")) return known
            const answer = { provider_message_id: `reference-${++count}` }
            answers.set(sms.id, answer)
            return answer
          })
        },
        incoming: Stream.fromQueue(incoming)
      },
      messages: () => received,
      text: (sms) =>
        is("emits no text messages") ? Effect.void : Effect.asVoid(Queue.offer(incoming, { ...sms, id: `${++count}` }))
    }
  })

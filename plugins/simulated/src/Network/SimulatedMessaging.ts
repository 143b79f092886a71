import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "@svc/providers/Messaging"
import { Effect, Stream } from "effect"

/** A text message as `GET sms` returns it. */
export interface SentSms {
  readonly id: string
  readonly to: string
  readonly from: string
  readonly message: string
}

/** The number of messages that are kept; the oldest are dropped. */
const kept = 2000

/** Phones of this network cannot send text messages. */
const incoming: Stream.Stream<IncomingSms> = Stream.never

/** The text messages of the simulated network. Messages to a number that ends in `0000` are refused. */
export class SimulatedMessaging {
  readonly #messages: Array<SentSms> = []
  readonly #deliver: (sms: OutgoingSms) => void

  /** `deliver` passes a message to the phones of its number. */
  constructor(deliver: (sms: OutgoingSms) => void) {
    this.#deliver = deliver
  }

  /** The messages that were sent, oldest first. */
  get messages(): ReadonlyArray<SentSms> {
    return this.#messages
  }

  readonly messaging: Messaging = {
    incoming,
    send: (sms) =>
      Effect.suspend(() => {
        if (sms.to.endsWith("0000")) {
          return Effect.fail(new SmsFailed({ reason: `the simulated network refuses messages to ${sms.to}` }))
        }
        const provider_message_id = `sim-${sms.id}`
        // A message that is sent again with the same id is delivered once.
        if (!this.#messages.some(({ id }) => id === provider_message_id)) {
          this.#messages.push({ id: provider_message_id, to: sms.to, from: sms.from, message: sms.message })
          if (this.#messages.length > kept) this.#messages.shift()
          this.#deliver(sms)
        }
        return Effect.succeed({ provider_message_id })
      })
  }
}

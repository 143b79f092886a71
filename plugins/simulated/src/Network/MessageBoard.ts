import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "@svc/providers/Messaging"
import { Effect, Stream } from "effect"

/** A message as `GET sms` tells it. */
export interface KeptSms {
  readonly id: string
  readonly to: string
  readonly from: string
  readonly message: string
}

/** Messages that are kept; the oldest are forgotten. */
const kept = 2000

/** Phones of this network send no messages. */
const incoming: Stream.Stream<IncomingSms> = Stream.never

/** The text messages of the simulated network. A number that ends in `0000` is refused. */
export class MessageBoard {
  readonly #messages: Array<KeptSms> = []
  readonly #deliver: (sms: OutgoingSms) => void

  /** `deliver` shows a message on the phones that have its number. */
  constructor(deliver: (sms: OutgoingSms) => void) {
    this.#deliver = deliver
  }

  /** All that were sent, oldest first. */
  get messages(): ReadonlyArray<KeptSms> {
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
        // Sent again under the same id, it is the same message.
        if (!this.#messages.some(({ id }) => id === provider_message_id)) {
          this.#messages.push({ id: provider_message_id, to: sms.to, from: sms.from, message: sms.message })
          if (this.#messages.length > kept) this.#messages.shift()
          this.#deliver(sms)
        }
        return Effect.succeed({ provider_message_id })
      })
  }
}

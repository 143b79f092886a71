import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "@svc/providers/Messaging"
import { Effect, Stream } from "effect"
import type { CarrierRecords } from "../Carrier/CarrierRecords.ts"

/** Phones of this network cannot send text messages. */
const incoming: Stream.Stream<IncomingSms> = Stream.never

/**
 * The text messages of the simulated network, with `deliver`, which passes a message to the phones of its number. A
 * message that is sent again with its id is delivered once. Messages to a number that ends in `0000` are refused.
 */
export const simulatedMessaging = (
  records: typeof CarrierRecords.Service,
  deliver: (sms: OutgoingSms) => void
): Messaging => ({
  deliversOnce: true,
  incoming,
  send: (sms) =>
    Effect.gen(function* () {
      if (sms.to.endsWith("0000")) {
        return yield* new SmsFailed({ reason: `the simulated network refuses messages to ${sms.to}` })
      }
      const provider_message_id = `sim-${sms.id}`
      const { from, message, to } = sms
      const isNew = yield* records
        .add({ order: "sms", id: provider_message_id, to, from, message })
        .pipe(Effect.mapError(({ reason }) => new SmsFailed({ reason })))
      if (isNew) deliver(sms)
      return { provider_message_id }
    })
})

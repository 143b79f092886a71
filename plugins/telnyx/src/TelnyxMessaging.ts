import type { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import { type IncomingSms, type Messaging, type OutgoingSms, SmsFailed } from "@svc/providers/Messaging"
import { Effect, type Stream } from "effect"
import { dataOf, type TelnyxApi } from "./TelnyxApi.ts"

const failed =
  ({ sender_type }: OutgoingSms, profile: string | undefined) =>
  (failure: CarrierRequestFailed) => {
    const hint =
      sender_type === "alphanumeric" && profile === undefined
        ? "; a name as the sender needs SVC_TELNYX_MESSAGING_PROFILE_ID"
        : ""
    return new SmsFailed({
      reason: `${failure.reason}${hint}`,
      ...(failure.outcome === "unknown" ? { mayBeSent: true } : {})
    })
  }

/** The text messages of Telnyx: `POST /messages`, and the webhook `message.received`. */
export const make = (options: {
  readonly api: TelnyxApi
  readonly profile: string | undefined
  readonly incoming: Stream.Stream<IncomingSms>
}): Messaging => {
  const { api, incoming, profile } = options
  return {
    incoming,
    send: (sms) =>
      api
        .request({
          method: "POST",
          path: "/messages",
          json: {
            from: sms.from,
            to: sms.to,
            text: sms.message,
            ...(profile === undefined ? {} : { messaging_profile_id: profile })
          },
          key: sms.id,
          // The message could be delivered twice.
          isRepeatable: false
        })
        .pipe(
          Effect.mapError(failed(sms, profile)),
          Effect.map((body) => {
            const { id } = Object(dataOf(body))
            return { provider_message_id: typeof id === "string" ? id : null }
          })
        )
  }
}

import { Schema } from "effect"
import { CallId } from "../Ids.ts"
import { call, from } from "./EventFields.ts"

/** `data` of `sms.sent`: a text message that was sent or refused. */
export const smsEventData = {
  "sms.sent": Schema.Struct({
    ...call,
    /** Null when the message was sent through the API and not in a call. */
    call_id: Schema.NullOr(CallId),
    ...from,
    /** E.164. */
    to: Schema.String,
    /** The number that it was sent from, when it was one. */
    from_number: Schema.NullOr(Schema.String),
    /** The name that it was sent as, when it was one. */
    sender_name: Schema.NullOr(Schema.String),
    message: Schema.String,
    sender_type: Schema.Literal("number", "alphanumeric"),
    provider_message_id: Schema.NullOr(Schema.String),
    cost_eur: Schema.NullOr(Schema.Finite),
    status: Schema.Literal("sent", "failed")
  })
} as const

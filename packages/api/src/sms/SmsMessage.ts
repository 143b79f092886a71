import { Schema } from "effect"
import { define } from "../VoiceError.ts"
import { E164 } from "../Wire.ts"
import { SenderName, SmsText } from "./SmsLimits.ts"

/** Body of `POST /v1/sms/send`. */
export const SmsSend = Schema.Struct({
  from_number: E164.annotations({ description: "A phone number of the project, in E.164" }),
  to: E164,
  message: SmsText.annotations({ examples: ["Your table is booked."] }),
  sender_name: Schema.optional(Schema.NullOr(SenderName)).annotations({
    description: "Shown in place of the number in the EU, the UK and Australia; elsewhere it is passed over"
  })
}).annotations({ identifier: "SmsSend" })
export type SmsSend = typeof SmsSend.Type

/** A message that was sent. */
export const SmsMessage = Schema.Struct({
  message_id: Schema.String.annotations({ examples: ["sms_0123456789abcdefghijklmn"] }),
  status: Schema.Literal("sent", "failed"),
  /** Null when a name was the sender. */
  from_number: Schema.NullOr(Schema.String),
  /** Null when a number was the sender. */
  sender_name: Schema.NullOr(Schema.String),
  sender_type: Schema.Literal("number", "alphanumeric"),
  to: Schema.String,
  cost_eur: Schema.NullOr(Schema.Number),
  provider_message_id: Schema.NullOr(Schema.String)
}).annotations({ identifier: "SmsMessage" })
export type SmsMessage = typeof SmsMessage.Type

/** The network refused the message, or no plugin can send it; `message` says why. */
export class SmsNotSent extends define("SmsNotSent", "SMS_FAILED", 422, "the message could not be sent") {}

import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { InsufficientCredits, ValidationError } from "../VoiceError.ts"
import { SmsMessage, SmsNotSent, SmsSend } from "./SmsMessage.ts"

/** `/v1/sms`. See docs/reference/numbers-and-messages.md. */
export const SmsApi = HttpApiGroup.make("sms")
  .annotateContext(OpenApi.annotations({ title: "SMS", description: "Text messages from a project's numbers." }))
  .add(
    HttpApiEndpoint.post("send", "/v1/sms/send")
      .annotateContext(
        OpenApi.annotations({
          summary: "Send a text message",
          description:
            "At most 160 characters. Answers when the network has taken it. The event sms.sent fires whether it was sent or refused."
        })
      )
      .setPayload(SmsSend)
      .addSuccess(SmsMessage)
      .addError(ValidationError.wire)
      .addError(InsufficientCredits.wire)
      .addError(SmsNotSent.wire)
  )

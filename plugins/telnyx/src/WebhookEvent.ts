import { Option, Schema } from "effect"

const Text = Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true })

const Header = Schema.Struct({ name: Schema.String, value: Schema.String })
const Headers = Schema.optionalWith(Schema.NullOr(Schema.Array(Header)), { exact: true })

/** What the webhooks of a call say (developers.telnyx.com/docs/voice/programmable-voice/voice-api-webhooks). */
const CallPayload = Schema.Struct({
  call_control_id: Schema.String,
  call_session_id: Text,
  client_state: Text,
  direction: Text,
  from: Text,
  to: Text,
  caller_id_name: Text,
  custom_headers: Headers,
  sip_headers: Headers,
  hangup_cause: Text,
  hangup_source: Text,
  sip_hangup_cause: Schema.optionalWith(Schema.NullOr(Schema.Union(Schema.String, Schema.Number)), { exact: true }),
  digit: Text,
  result: Text,
  failure_reason: Text
})

export type CallPayload = typeof CallPayload.Type

const Party = Schema.Struct({ phone_number: Schema.String })

/** `message.received` (developers.telnyx.com/docs/messaging/messages/receive-message). */
const MessagePayload = Schema.Struct({
  id: Schema.String,
  from: Party,
  to: Schema.Array(Party),
  text: Text
})

export type MessagePayload = typeof MessagePayload.Type

/** A webhook of Telnyx: what happened to a call, or a message that came in. */
export type WebhookEvent =
  | { readonly _tag: "Call"; readonly id: string; readonly type: string; readonly payload: CallPayload }
  | { readonly _tag: "Message"; readonly id: string; readonly payload: MessagePayload }
  /** An event that is of no use here, such as the receipt of a message. */
  | { readonly _tag: "Other"; readonly type: string }

const Envelope = Schema.parseJson(
  Schema.Struct({
    data: Schema.Struct({
      id: Text,
      event_type: Schema.String,
      payload: Schema.Unknown
    })
  })
)
const decodeEnvelope = Schema.decodeUnknownOption(Envelope)
const decodeCall = Schema.decodeUnknownOption(CallPayload)
const decodeMessage = Schema.decodeUnknownOption(MessagePayload)

/** The event in the body of a webhook; none: it is not one of Telnyx. */
export const eventOf = (body: Uint8Array): Option.Option<WebhookEvent> =>
  Option.flatMap(decodeEnvelope(new TextDecoder().decode(body)), ({ data }): Option.Option<WebhookEvent> => {
    const { event_type: type, payload } = data
    const id = data.id ?? ""
    if (type === "message.received") {
      return Option.map(decodeMessage(payload), (message) => ({ _tag: "Message", id, payload: message }))
    }
    if (!/^(call|streaming)\./.test(type)) return Option.some({ _tag: "Other", type })
    return Option.map(decodeCall(payload), (call) => ({ _tag: "Call", id, type, payload: call }))
  })

/** A text as `client_state` carries it: base64. */
export const clientState = (text: string): string => Buffer.from(text).toString("base64")

/** The text of a `client_state`; empty without one. */
export const stateOf = ({ client_state: state }: CallPayload): string =>
  Buffer.from(state ?? "", "base64").toString("utf8")

import { Either, Option, Schema } from "effect"

/** Of a field that decides nothing: a value of another type counts as null, so that the event is not lost with it. */
const orNull = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.NullOr(schema).annotations({ decodingFallback: () => Either.right(null) })

const Text = Schema.optionalWith(orNull(Schema.String), { exact: true })

const Header = Schema.Struct({ name: Schema.String, value: Schema.String })
const Headers = Schema.optionalWith(orNull(Schema.Array(orNull(Header))), { exact: true })

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
  sip_hangup_cause: Schema.optionalWith(orNull(Schema.Union(Schema.String, Schema.Number)), { exact: true }),
  digit: Text,
  result: Text,
  failure_reason: Text
})

export type CallPayload = typeof CallPayload.Type

const Party = Schema.Struct({ phone_number: Schema.String })

/** `message.received` (developers.telnyx.com/docs/messaging/messages/receive-message). */
const MessagePayload = Schema.Struct({
  id: Text,
  from: Party,
  to: Schema.Array(orNull(Party)),
  text: Text
})

export type MessagePayload = typeof MessagePayload.Type

/** A webhook of Telnyx: what happened to a call, or a message that came in. */
export type WebhookEvent =
  | { readonly _tag: "Call"; readonly id: string; readonly type: string; readonly payload: CallPayload }
  | { readonly _tag: "Message"; readonly id: string; readonly payload: MessagePayload }
  /** An event of a call or a message that lacks what is needed to act on it, such as the id of the call. */
  | { readonly _tag: "Incomplete"; readonly type: string }
  /** An event that the plugin does not use, such as the receipt of a message. */
  | { readonly _tag: "Other"; readonly type: string }

const Envelope = Schema.parseJson(
  Schema.Struct({
    data: Schema.Struct({
      id: Text,
      event_type: Schema.String,
      payload: Schema.optional(Schema.Unknown)
    })
  })
)
const decodeEnvelope = Schema.decodeUnknownOption(Envelope)
const decodeCall = Schema.decodeUnknownOption(CallPayload)
const decodeMessage = Schema.decodeUnknownOption(MessagePayload)

/** The event in the body of a webhook; none: the body is no JSON with `data.event_type`. */
export const eventOf = (body: Uint8Array): Option.Option<WebhookEvent> =>
  Option.map(decodeEnvelope(new TextDecoder().decode(body)), ({ data }): WebhookEvent => {
    const { event_type: type, payload } = data
    const id = data.id ?? ""
    const incomplete = (): WebhookEvent => ({ _tag: "Incomplete", type })
    if (type === "message.received") {
      return Option.match(decodeMessage(payload), {
        onNone: incomplete,
        onSome: (message) => ({ _tag: "Message", id, payload: message })
      })
    }
    if (!/^(call|streaming)\./.test(type)) return { _tag: "Other", type }
    return Option.match(decodeCall(payload), {
      onNone: incomplete,
      onSome: (call) => ({ _tag: "Call", id, type, payload: call })
    })
  })

/** A text as `client_state` carries it: base64. */
export const clientState = (text: string): string => Buffer.from(text).toString("base64")

/** The text of a `client_state`; empty without one. */
export const stateOf = ({ client_state: state }: CallPayload): string =>
  Buffer.from(state ?? "", "base64").toString("utf8")

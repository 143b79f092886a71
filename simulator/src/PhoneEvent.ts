import { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Data, Either, Schema } from "effect"

/** An event of a phone: its connection to the network, and the messages of the network. */
export type PhoneEvent = Data.TaggedEnum<{
  Connecting: { readonly attempt: number }
  Connected: {}
  /** The connection was lost or refused; the next attempt starts after `retry_ms`. */
  Disconnected: { readonly reason: string; readonly retry_ms: number }
  Received: { readonly message: ServerMessage }
  /** A message that does not match the protocol. */
  Unreadable: { readonly raw: string; readonly reason: string }
}>
export const PhoneEvent = Data.taggedEnum<PhoneEvent>()

const decode = Schema.decodeUnknownEither(Schema.parseJson(ServerMessage))

/** Decodes one frame of the network. */
export const readFrame = (raw: string): PhoneEvent => {
  const decoded = decode(raw)
  return Either.isRight(decoded)
    ? PhoneEvent.Received({ message: decoded.right })
    : PhoneEvent.Unreadable({ raw: raw.slice(0, 200), reason: unreadableReason(raw) })
}

/** Why a frame could not be decoded, in short: the complete schema error is longer than a screen. */
const unreadableReason = (raw: string): string => {
  const object = Schema.decodeUnknownEither(Schema.parseJson(Schema.Struct({ event: Schema.String })))(raw)
  if (Either.isLeft(object)) return "not a message of the network"
  const names = ServerMessage.members.map((member) => member.fields.event.literals[0])
  return names.some((name) => name === object.right.event)
    ? `the fields of "${object.right.event}" are wrong`
    : `unknown event "${object.right.event}"`
}

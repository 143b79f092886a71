import { ClientMessage, type ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Either, ParseResult, Schema } from "effect"

/** A message from a phone: decoded audio, any other message, or why it is malformed. */
export type PhoneMessage =
  | { readonly _tag: "Audio"; readonly bytes: Uint8Array }
  | { readonly _tag: "Other"; readonly message: Exclude<ClientMessage, { readonly event: "media" }> }
  | { readonly _tag: "Malformed"; readonly reason: string }

/** The maximum length of a message in characters. */
const maxLength = 262_144

const mediaHead = '{"event":"media","payload":"'
const mediaTail = '"}'

/**
 * The audio of one message, valid until the next one is read. A plain array, because a Buffer's `slice` does not copy.
 */
const scratch = Buffer.alloc(maxLength)
const plain = new Uint8Array(scratch.buffer, scratch.byteOffset, scratch.byteLength)

const decodeMessage = Schema.decodeUnknownEither(ClientMessage)
const known = ClientMessage.members.map((member) => member.fields.event.literals[0])

const malformed = (reason: string): PhoneMessage => ({ _tag: "Malformed", reason })

/** Decodes base64 into the scratch buffer; undefined when it is empty or not base64. */
const decodeAudio = (payload: string): Uint8Array | undefined => {
  const padding = payload.endsWith("==") ? 2 : payload.endsWith("=") ? 1 : 0
  const characters = payload.length - padding
  if (characters === 0 || characters % 4 === 1 || (padding > 0 && payload.length % 4 !== 0)) return undefined
  // Node skips characters that are not base64, which leaves fewer bytes than expected.
  const count = scratch.write(payload, "base64")
  return count === Math.floor((characters * 3) / 4) ? plain.subarray(0, count) : undefined
}

const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({ try: (): unknown => JSON.parse(text), catch: () => "the message is not valid JSON" })

const eventOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "event" in json ? json.event : undefined

/** Reads a phone's message. A `media` message in the usual notation is read without parsing JSON. */
export const readPhoneMessage = (data: string | Uint8Array): PhoneMessage => {
  if (data.length > maxLength) return malformed(`the message is longer than ${maxLength} characters`)
  const text = typeof data === "string" ? data : Buffer.from(data).toString("utf8")
  if (text.startsWith(mediaHead) && text.endsWith(mediaTail)) {
    const bytes = decodeAudio(text.slice(mediaHead.length, -mediaTail.length))
    if (bytes !== undefined) return { _tag: "Audio", bytes }
  }
  const json = parse(text)
  if (Either.isLeft(json)) return malformed(json.left)
  const event = eventOf(json.right)
  if (event === undefined) return malformed('a message is a JSON object with an "event"')
  if (!known.some((name) => name === event)) {
    return malformed(`unknown event ${JSON.stringify(event)}; known are ${known.join(", ")}`)
  }
  const message = decodeMessage(json.right)
  if (Either.isLeft(message)) {
    const issue = ParseResult.ArrayFormatter.formatErrorSync(message.left)[0]
    return malformed(issue === undefined ? `bad ${event}` : `${[event, ...issue.path].join(".")}: ${issue.message}`)
  }
  if (message.right.event !== "media") return { _tag: "Other", message: message.right }
  const bytes = decodeAudio(message.right.payload)
  return bytes === undefined
    ? malformed("media.payload: expected base64 of at least one byte")
    : { _tag: "Audio", bytes }
}

/** Writes a message to a phone. */
export const writePhoneMessage = (message: ServerMessage): string => JSON.stringify(message)

/** Writes a `media` message. */
export const writeMedia = (frame: Uint8Array): string =>
  mediaHead + Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString("base64") + mediaTail

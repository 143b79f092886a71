import { chatModel } from "@svc/api/chat/ChatCompletion"
import { UnsupportedModel } from "@svc/api/chat/ChatError"
import { ValidationError } from "@svc/api/VoiceError"

type Details = Readonly<Record<string, string>>

/** What is not supported, by the types of content parts with which clients send it. */
const unsupportedParts: Details = {
  image_url: "images are not supported",
  input_image: "images are not supported",
  image: "images are not supported",
  input_audio: "audio is not supported",
  file: "files are not supported"
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

const entriesOf = (value: unknown): ReadonlyArray<readonly [index: number, entry: unknown]> =>
  Array.isArray(value) ? [...value.entries()] : []

/** The first part of a message that is an image, audio or a file. */
const unsupportedPart = (body: unknown): ValidationError | undefined => {
  for (const [index, message] of entriesOf(fieldOf(body, "messages"))) {
    for (const [place, part] of entriesOf(fieldOf(message, "content"))) {
      const type = fieldOf(part, "type")
      if (typeof type !== "string" || !Object.hasOwn(unsupportedParts, type)) continue
      const field = `messages.${index}.content.${place}.type`
      return ValidationError.field(field, `${field} must be text: ${unsupportedParts[type]}, send text parts`)
    }
  }
  return undefined
}

/** The messages of a refused body in words that fit the value that was sent. */
const reworded = (body: unknown, details: Details): Details => {
  const stop = fieldOf(body, "stop")
  const messages = fieldOf(body, "messages")
  const words = new Map<string, string>()
  if (Array.isArray(messages) && messages.length === 0) words.set("messages", "messages must have at least 1 item")
  if (stop === "") words.set("stop", "stop must not be empty")
  for (const [index, text] of entriesOf(stop)) {
    if (text === "") words.set(`stop.${index}`, `stop.${index} must not be empty`)
  }
  // A part of another type needs no text.
  const isNeedless = (field: string) => field.endsWith(".text") && `${field.slice(0, -".text".length)}.type` in details
  const needed = Object.entries(details).filter(([field]) => !isNeedless(field))
  return Object.fromEntries(needed.map(([field, message]) => [field, words.get(field) ?? message]))
}

/**
 * What is wrong with a body that the schema of a request refuses: another model before all else; then a part that is an
 * image, audio or a file, alone, because OpenAI's clients show only the message; else the fields that the schema refused.
 */
export const bodyFault = (body: unknown, refused: ValidationError): UnsupportedModel | ValidationError => {
  const model = fieldOf(body, "model")
  if (typeof model === "string" && model !== chatModel) return new UnsupportedModel()
  const { details } = refused
  return unsupportedPart(body) ?? (details === undefined ? refused : ValidationError.fields(reworded(body, details)))
}

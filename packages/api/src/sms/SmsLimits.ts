import { Schema } from "effect"
import { isLongerThan } from "../Wire.ts"
import { gsmAlphabet } from "./GsmAlphabet.ts"

/** Limits of a text message, whether sent by the API, a tool, or after a call. */

/** Maximum number of characters of a message. An emoji is one. */
export const smsCharacters = 160
/** Maximum number of characters of a sender's name. */
export const senderNameCharacters = 11

/** The text of a message: 1 to 160 characters, not all of them blank. */
export const SmsText = Schema.String.pipe(
  Schema.filter((text) => !isLongerThan(smsCharacters, text), {
    message: () => `message must not exceed ${smsCharacters} characters`,
    jsonSchema: { maxLength: smsCharacters }
  }),
  Schema.filter((text) => text.trim() !== "", {
    message: () => "message is required.",
    jsonSchema: { minLength: 1 }
  }),
  Schema.filter((text) => !text.includes("\0") && text.isWellFormed(), {
    message: () => "message must be text that can be sent",
    jsonSchema: {}
  })
)

const nameCharacters: ReadonlySet<string> = new Set(
  [...gsmAlphabet].filter((character) => !/\s/.test(character)).concat(" ")
)

/**
 * A name in place of a number; it is shown in the EU, the UK and Australia; other countries show the number. Networks
 * carry it in the GSM alphabet (3GPP TS 23.040, 9.1.2.5); without a letter it would pass for a number. A blank one is
 * none.
 */
export const SenderName = Schema.String.pipe(
  Schema.filter((name) => !isLongerThan(senderNameCharacters, name), {
    message: () => `sender_name must not exceed ${senderNameCharacters} characters`,
    jsonSchema: { maxLength: senderNameCharacters }
  }),
  Schema.filter((name) => [...name].every((character) => nameCharacters.has(character)), {
    message: () => "sender_name must have only letters, digits, spaces and punctuation of the GSM alphabet",
    jsonSchema: {}
  }),
  Schema.filter((name) => name.trim() === "" || /\p{L}/u.test(name), {
    message: () => "sender_name must have at least one letter",
    jsonSchema: {}
  })
)

import { Schema } from "effect"

/** Limits of a text message, whether sent by the API, a tool, or after a call. */

/** Maximum number of characters of a message. An emoji is one. */
export const smsCharacters = 160
/** Maximum number of characters of a sender's name. */
export const senderNameCharacters = 11

/** The number of characters as people count them: an emoji is one. */
export const charactersIn = (text: string): number => [...text].length

/** The text of a message: 1 to 160 characters, not all of them blank. */
export const SmsText = Schema.String.pipe(
  Schema.filter((text) => text.trim() !== "", {
    message: () => "message is required.",
    jsonSchema: { minLength: 1 }
  }),
  Schema.filter((text) => !text.includes("\0") && text.isWellFormed(), {
    message: () => "message must be text that can be sent",
    jsonSchema: {}
  }),
  Schema.filter((text) => charactersIn(text) <= smsCharacters, {
    message: () => `message must not exceed ${smsCharacters} characters`,
    jsonSchema: { maxLength: smsCharacters }
  })
)

/** A name in place of a number; it is shown in the EU, the UK and Australia; other countries show the number. */
export const SenderName = Schema.String.pipe(
  Schema.filter((name) => charactersIn(name) <= senderNameCharacters, {
    message: () => `sender_name must not exceed ${senderNameCharacters} characters`,
    jsonSchema: { maxLength: senderNameCharacters }
  }),
  Schema.filter((name) => !/[\p{Cc}\p{Cs}]/u.test(name), {
    message: () => "sender_name must be text that can be shown",
    jsonSchema: {}
  })
)

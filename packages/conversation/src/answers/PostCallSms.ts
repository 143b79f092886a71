import { postCallSmsFields } from "@svc/api/callbacks/CallStarted"
import { charactersIn, smsCharacters } from "@svc/api/sms/SmsLimits"
import { Schema } from "effect"
import { decodeValue, fieldReader, isRecord, type Warning } from "./FieldReader.ts"

/** The message that is sent when a call has ended, with its variables still in it. */
export const PostCallSms = Schema.Struct({
  /** E.164, or `caller`. */
  to: Schema.String,
  message: Schema.String,
  sender_name: Schema.NullOr(Schema.String)
})
export type PostCallSms = typeof PostCallSms.Type

/** What stands in for `{{…}}`; other names stay as they are. */
export interface CallVariables {
  readonly call_id: string
  readonly duration_seconds: number
}

/** The message as it is sent. */
export const filled = (message: string, variables: CallVariables): string =>
  message.replace(/\{\{\s*(call_id|duration_seconds)\s*\}\}/g, (_, name: keyof CallVariables) =>
    String(variables[name])
  )

/** Whether a message, with its variables filled in, is longer than one may be. */
export const tooLong = (message: string): boolean => charactersIn(message) > smsCharacters

/** As long as every call's id. */
const someCall = `call_${"0".repeat(24)}`

/** Reads `post_call.sms`. Without a receiver or a text it is left out as a whole. */
export const postCallSmsOf = (answer: unknown, warnings: Array<Warning>): PostCallSms | null => {
  const parts = isRecord(answer) ? (answer["post_call"] ?? null) : null
  if (parts === null) return null
  if (!isRecord(parts)) {
    warnings.push({ field: "post_call", reason: "post_call must be an object" })
    return null
  }
  const given = parts["sms"] ?? null
  if (given === null) return null
  if (!isRecord(given)) {
    warnings.push({ field: "post_call.sms", reason: "post_call.sms must be an object" })
    return null
  }
  const read = fieldReader(warnings, given, "post_call.sms.")
  // Absent, they are as bad as wrong.
  const to = decodeValue(warnings, "post_call.sms.to", given["to"] ?? "", postCallSmsFields.to)
  const message = decodeValue(warnings, "post_call.sms.message", given["message"] ?? "", postCallSmsFields.message)
  const sender_name = read("sender_name", postCallSmsFields.sender_name) || null
  if (to === null || message === null) return null
  // How long the call will be is not known yet; of one digit it is shortest.
  if (tooLong(filled(message, { call_id: someCall, duration_seconds: 0 }))) {
    warnings.push({ field: "post_call.sms.message", reason: `message must not exceed ${smsCharacters} characters` })
    return null
  }
  return { to, message, sender_name }
}

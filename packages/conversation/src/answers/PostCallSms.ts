import { postCallSmsFields } from "@svc/api/callbacks/CallStarted"
import { smsCharacters } from "@svc/api/sms/SmsLimits"
import { isLongerThan } from "@svc/api/Wire"
import { Schema } from "effect"
import { decodeValue, fieldReader, isRecord, type Warnings } from "./FieldReader.ts"

/** The text message that is sent after a call, with unreplaced variables. */
export const PostCallSms = Schema.Struct({
  /** E.164, or `caller`. */
  to: Schema.String,
  message: Schema.String,
  sender_name: Schema.NullOr(Schema.String)
})
export type PostCallSms = typeof PostCallSms.Type

/** The values that replace `{{…}}`; other names are left unchanged. */
export interface CallVariables {
  readonly call_id: string
  readonly duration_seconds: number
}

/** Replaces the variables of a message. */
export const filled = (message: string, variables: CallVariables): string =>
  message.replace(/\{\{\s*(call_id|duration_seconds)\s*\}\}/g, (_, name: keyof CallVariables) =>
    String(variables[name])
  )

/** Whether a message with replaced variables exceeds the maximum length. */
export const tooLong = (message: string): boolean => isLongerThan(smsCharacters, message)

/** An id with the length of every call's id. */
const placeholderId = `call_${"0".repeat(24)}`

/** Reads `post_call.sms`. Without a valid receiver or text it is left out as a whole. */
export const postCallSmsOf = (answer: Readonly<Record<string, unknown>>, warnings: Warnings): PostCallSms | null => {
  const parts = answer["post_call"] ?? null
  if (parts === null) return null
  if (!isRecord(parts)) {
    warnings.add("post_call", "post_call must be an object")
    return null
  }
  const given = parts["sms"] ?? null
  if (given === null) return null
  if (!isRecord(given)) {
    warnings.add("post_call.sms", "post_call.sms must be an object")
    return null
  }
  const read = fieldReader(warnings, given, "post_call.sms.")
  // Absent fields are as invalid as wrong ones.
  const to = decodeValue(warnings, "post_call.sms.to", given["to"], postCallSmsFields.to)
  const message = decodeValue(warnings, "post_call.sms.message", given["message"] ?? "", postCallSmsFields.message)
  const sender_name = read("sender_name", postCallSmsFields.sender_name) || null
  if (to === null || message === null) return null
  // The duration is not known yet; one digit is the shortest.
  if (tooLong(filled(message, { call_id: placeholderId, duration_seconds: 0 }))) {
    warnings.add("post_call.sms.message", `message must not exceed ${smsCharacters} characters`)
    return null
  }
  return { to, message, sender_name }
}

import { Schema } from "effect"

/** Pieces that many wire schemas share. Responses have the same shape encoded and decoded, so they need no encoding step. */

/** An ISO 8601 UTC timestamp, `2026-11-01T09:30:00.000Z`. */
export const Timestamp = Schema.String.annotations({ jsonSchema: { type: "string", format: "date-time" } })

/** A phone number in E.164: `+` and 7 to 15 digits. */
export const E164 = Schema.String.pipe(
  Schema.pattern(/^\+[1-9][0-9]{6,14}$/, { message: () => "must be a valid E.164 phone number" })
).annotations({
  description: "Phone number in E.164",
  examples: ["+15550100100"]
})

/** `limit` of a list: a decimal integer from 1 to `max`; above it is a validation error, not a clamp. */
export const Limit = (max: number) =>
  // The digits come first: `NumberFromString` alone also takes `1e1`, `0x10` and spaces.
  Schema.String.pipe(
    Schema.pattern(/^-?[0-9]{1,15}$/, { message: () => "limit must be an integer" }),
    Schema.compose(Schema.NumberFromString),
    Schema.between(1, max, { message: () => `limit must be between 1 and ${max}` })
  ).annotations({ jsonSchema: { type: "integer", minimum: 1, maximum: max } })

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/**
 * Whether a text has more than `max` characters as people count them: an emoji is one. Reads no more of a long text than
 * it must.
 */
export const isLongerThan = (max: number, text: string): boolean => {
  // A character is one or two code units.
  if (text.length <= max || text.length > 2 * max) return text.length > max
  let pairs = 0
  for (let at = 0; at < text.length - 1; at++) {
    if (isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1))) pairs++
  }
  return text.length - pairs > max
}

/** A JSON value of any shape. */
export const Json = Schema.Unknown.annotations({ jsonSchema: {} })

/** A JSON object of any shape. Its fields are not looked at: a record's schema would copy them one by one. */
export const JsonObject = Schema.declare(
  (value): value is { readonly [key: string]: unknown } =>
    typeof value === "object" && value !== null && !Array.isArray(value),
  { title: "an object", jsonSchema: { type: "object" } }
)
export type JsonObject = typeof JsonObject.Type

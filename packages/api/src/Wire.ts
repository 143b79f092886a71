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

/** A JSON value of any shape. */
export const Json = Schema.Unknown.annotations({ jsonSchema: {} })

/** A JSON object of any shape. */
export const JsonObject = Schema.Record({ key: Schema.String, value: Json })
export type JsonObject = typeof JsonObject.Type

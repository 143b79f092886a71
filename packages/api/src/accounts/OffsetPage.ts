import { Schema } from "effect"
import { Limit } from "../Wire.ts"

/** `offset` of a list: how many rows to skip, a decimal integer. */
export const Offset = Schema.String.pipe(
  Schema.pattern(/^-?[0-9]{1,15}$/, { message: () => "offset must be an integer" }),
  Schema.compose(Schema.NumberFromString),
  Schema.nonNegative({ message: () => "offset must not be negative" })
).annotations({ jsonSchema: { type: "integer", minimum: 0 } })

/** Query of the lists with `limit` and `offset`. See docs/reference/conventions.md. */
export const OffsetPage = Schema.Struct({
  limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
  offset: Schema.optionalWith(Offset, { default: () => 0 })
})
export type OffsetPage = typeof OffsetPage.Type

/** The query fields that the responses of these lists repeat. */
export const pageFields = { limit: Schema.Int, offset: Schema.Int }

import { Schema } from "effect"
import { Country, requiredText } from "../ValueRules.ts"
import { Limit } from "../Wire.ts"
import { PhoneNumber } from "./PhoneNumber.ts"
import { NumberType } from "./PhoneNumberFields.ts"

/** Query of `GET /v1/phone-numbers/search`. */
export const NumberSearchQuery = Schema.Struct({
  country: Country,
  /** Area code or place; empty is the same as absent. */
  area: Schema.optional(requiredText("area", { max: 100 })),
  type: Schema.optional(NumberType),
  limit: Schema.optionalWith(Limit(100), { default: () => 50 })
})
export type NumberSearchQuery = typeof NumberSearchQuery.Type

/** A number for sale. */
export const NumberForSale = Schema.Struct({
  number: PhoneNumber.fields.number,
  country: PhoneNumber.fields.country,
  type: PhoneNumber.fields.type,
  area: Schema.NullOr(Schema.String).annotations({ description: "Area code or place, as the carrier names it" }),
  monthly_cost_eur: PhoneNumber.fields.monthly_cost_eur
}).annotations({ identifier: "NumberForSale" })
export type NumberForSale = typeof NumberForSale.Type

import { Schema } from "effect"
import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { E164 } from "../Wire.ts"
import { PhoneNumberFields } from "./PhoneNumberFields.ts"

/** A phone number of a project. */
export const PhoneNumber = variant(PhoneNumberFields, "wire").annotations({ identifier: "PhoneNumber" })
export type PhoneNumber = typeof PhoneNumber.Type

/** Body of `POST /v1/phone-numbers/import`. */
export const PhoneNumberImport = variant(PhoneNumberFields, "create").annotations({ identifier: "PhoneNumberImport" })
export type PhoneNumberImport = typeof PhoneNumberImport.Type

/** Body of `PATCH /v1/phone-numbers/<id>`. */
export const PhoneNumberAssign = variant(PhoneNumberFields, "update").annotations({ identifier: "PhoneNumberAssign" })

/** Body of `POST /v1/phone-numbers/purchase`. `agent_id` is a public or numeric id; null is the same as absent. */
export const PhoneNumberPurchase = Schema.Struct({
  number: E164,
  agent_id: Schema.optional(Schema.NullOr(Schema.Union(Schema.String, Schema.Int))),
  address_id: Schema.optional(Schema.NullOr(Schema.Int))
}).annotations({ identifier: "PhoneNumberPurchase" })
export type PhoneNumberPurchase = typeof PhoneNumberPurchase.Type

export class PhoneNumberNotFound extends define(
  "PhoneNumberNotFound",
  "PHONE_NUMBER_NOT_FOUND",
  404,
  "phone number not found"
) {}
export class PhoneNumberInUse extends define(
  "PhoneNumberInUse",
  "PHONE_NUMBER_IN_USE",
  409,
  "phone number is already registered"
) {}
export class PurchaseFailed extends define(
  "PurchaseFailed",
  "PURCHASE_FAILED",
  422,
  "the carrier refused the purchase"
) {}

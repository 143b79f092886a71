import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { PhoneNumberFields } from "./PhoneNumberFields.ts"

/** A phone number of a project. */
export const PhoneNumber = variant(PhoneNumberFields, "wire").annotations({ identifier: "PhoneNumber" })
export type PhoneNumber = typeof PhoneNumber.Type

/** Body of `POST /v1/phone-numbers/import`. */
export const PhoneNumberImport = variant(PhoneNumberFields, "create").annotations({ identifier: "PhoneNumberImport" })
export type PhoneNumberImport = typeof PhoneNumberImport.Type

/** Body of `PATCH /v1/phone-numbers/<id>`. */
export const PhoneNumberAssign = variant(PhoneNumberFields, "update").annotations({ identifier: "PhoneNumberAssign" })

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

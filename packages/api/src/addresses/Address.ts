import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { AddressFields } from "./AddressFields.ts"

/** An address of a project's customer, which some countries demand for a phone number. */
export const Address = variant(AddressFields, "wire").annotations({ identifier: "Address" })
export type Address = typeof Address.Type

/** Body of `POST /v1/addresses`. */
export const AddressCreate = variant(AddressFields, "create").annotations({ identifier: "AddressCreate" })
export type AddressCreate = typeof AddressCreate.Type

export class AddressNotFound extends define("AddressNotFound", "ADDRESS_NOT_FOUND", 404, "address not found") {}
export class AddressInUse extends define(
  "AddressInUse",
  "ADDRESS_IN_USE",
  409,
  "address is used by a phone number, or by one that is being bought; release the number first"
) {}

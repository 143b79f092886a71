import { Schema } from "effect"
import { type AddressStatus, NumberTypeVerdict } from "../addresses/AddressFields.ts"

const verification = <const S extends AddressStatus>(status: S) =>
  Schema.Struct({
    /** The address's numeric id. */
    address_id: Schema.Int,
    status: Schema.Literal(status),
    /** What may be bought with the address, type by type. */
    number_types: Schema.Array(NumberTypeVerdict)
  })

/** `data` of address verification events, which belong to a project and no agent. */
export const addressEventData = {
  "address.verification.pending": Schema.Struct({ address_id: Schema.Int, status: Schema.Literal("pending") }),
  "address.verification.verified": verification("verified"),
  "address.verification.partially_verified": verification("partially_verified"),
  "address.verification.rejected": verification("rejected"),
  "address.verification.expired": verification("expired")
} as const

import { Schema } from "effect"

const AddressStatus = Schema.Literal("pending", "verified", "partially_verified", "rejected", "expired")
type AddressStatus = typeof AddressStatus.Type

const numberTypes = Schema.Array(
  Schema.Struct({
    /** `local`, `mobile`, … */
    type: Schema.String,
    status: AddressStatus,
    rejection_reason: Schema.NullOr(Schema.String)
  })
)

const verification = <const S extends AddressStatus>(status: S) =>
  Schema.Struct({
    /** The address's numeric id. */
    address_id: Schema.Int,
    status: Schema.Literal(status),
    /** What may be bought with the address, type by type. */
    number_types: numberTypes
  })

/** `data` of address verification events, which belong to a project and no agent. */
export const addressEventData = {
  "address.verification.pending": Schema.Struct({ address_id: Schema.Int, status: Schema.Literal("pending") }),
  "address.verification.verified": verification("verified"),
  "address.verification.partially_verified": verification("partially_verified"),
  "address.verification.rejected": verification("rejected"),
  "address.verification.expired": verification("expired")
} as const

import { Schema } from "effect"
import { Field, Fields } from "../EntityFields.ts"
import { AgentId } from "../Ids.ts"
import { E164, Timestamp } from "../Wire.ts"

/** Types of phone number, by the numbering plan or by the carrier that offers it. */
export const NumberType = Schema.Literal("local", "mobile", "toll_free")

/** A value that never changes after the import or the purchase. */
const fixed = <Value extends Schema.Schema.Any>(value: Value) => ({ wire: value, row: value, insert: value })

/**
 * Every field of a phone number. `create` is the body of an import, `update` that of an assignment. `agent_id` is the
 * agent's public id in responses, and its numeric id in rows.
 */
export const PhoneNumberFields = Fields({
  id: Field({ wire: Schema.Int, row: Schema.Int }),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  project_id: Field({ row: Schema.Int, insert: Schema.Int }),
  number: Field({ ...fixed(Schema.String), create: E164 }),
  /** ISO 3166-1 alpha-2. */
  country: Field(fixed(Schema.String)),
  type: Field(fixed(NumberType)),
  agent_id: Field({
    wire: Schema.NullOr(AgentId),
    update: Schema.NullOr(Schema.Union(Schema.String, Schema.Int)),
    row: Schema.NullOr(Schema.Int),
    change: Schema.NullOr(Schema.Int)
  }),
  /** Stored beside `agent_id`, because it never changes. */
  agent_public_id: Field({ row: Schema.NullOr(AgentId), change: Schema.NullOr(AgentId) }),
  /** The address that the number was bought with; null where none is demanded. */
  address_id: Field(fixed(Schema.NullOr(Schema.Int))),
  /** `numeric` arrives as text. */
  monthly_cost_eur: Field({ wire: Schema.Number, row: Schema.NumberFromString, insert: Schema.Number }),
  /** Short name of the telephony plugin that carries the number. */
  telephony: Field({ ...fixed(Schema.String), create: Schema.String }),
  status: Field({ wire: Schema.Literal("active", "released"), row: Schema.Literal("active", "released") }),
  purchased_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  /** The carrier's id of a number that was bought here; null for an imported one, which the carrier does not end. */
  carrier_id: Field({ row: Schema.NullOr(Schema.String), insert: Schema.NullOr(Schema.String) }),
  /** Months of rent that were debited. */
  rent_months: Field({ row: Schema.Int }),
  /** The end of the last of these months, when the next one is due; null for a number without rent. */
  rent_paid_until: Field({ row: Schema.NullOr(Schema.DateFromSelf) })
})

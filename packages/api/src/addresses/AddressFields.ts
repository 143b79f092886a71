import { Schema } from "effect"
import { Field, Fields } from "../EntityFields.ts"
import { Country, optionalText, requiredText } from "../ValueRules.ts"
import { Timestamp } from "../Wire.ts"

/** The state of an address. See docs/reference/addresses.md. */
export const AddressStatus = Schema.Literal("pending", "verified", "partially_verified", "rejected", "expired")
export type AddressStatus = typeof AddressStatus.Type

/** Whether an address may be used for one type of number. */
export const NumberTypeVerdict = Schema.Struct({
  type: Schema.Literal("local", "mobile", "toll_free"),
  status: Schema.Literal("pending", "verified", "rejected", "expired"),
  rejection_reason: Schema.NullOr(Schema.String).annotations({ description: "Null unless rejected", examples: [null] })
}).annotations({ identifier: "NumberTypeVerdict" })
export type NumberTypeVerdict = typeof NumberTypeVerdict.Type

/** A value that never changes after the creation. */
const fixed = <Value extends Schema.Schema.Any, Body extends Schema.Schema.Any>(value: Value, body: Body) =>
  Field({ wire: value, create: body, row: value, insert: value })

/** A required text of at most `max` characters. */
const text = (field: string, max: number, example: string) => {
  const shown = { examples: [example] } as const
  const body = requiredText(field, {
    max,
    check: (value) => (value === "" ? `${field} is required.` : undefined),
    jsonSchema: { pattern: "\\S" }
  })
  return fixed(Schema.String.annotations(shown), body.annotations(shown))
}

const region = Schema.NullOr(Schema.String).annotations({ examples: [null] })
const verdicts = Schema.Array(NumberTypeVerdict)

/** Every field of an address. What a country demands beyond these rules is the service's to check. */
export const AddressFields = Fields({
  id: Field({ wire: Schema.Int, row: Schema.Int }),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  project_id: Field({ row: Schema.Int, insert: Schema.Int }),
  customer_name: text("customer_name", 200, "Anna de Vries"),
  street: text("street", 200, "Damrak 1"),
  city: text("city", 100, "Amsterdam"),
  postcode: text("postcode", 20, "1012 LG"),
  region: Field({
    wire: region,
    create: Schema.optionalWith(
      // In the JSON schema, because the default hides other annotations.
      optionalText("region", {
        max: 100,
        jsonSchema: {
          description: "State or province, where the country's addresses have one",
          examples: ["Noord-Holland"]
        }
      }),
      { default: () => null }
    ),
    row: region,
    insert: region
  }),
  country: fixed(
    Schema.String.annotations({ description: "ISO 3166-1 alpha-2", examples: ["NL"] }),
    Country.annotations({ examples: ["NL"] })
  ),
  number_types: Field({ wire: verdicts, row: verdicts }),
  status: Field({ wire: AddressStatus, row: AddressStatus }),
  /** Short name of the telephony plugin that verifies the address; null until one is asked. */
  telephony: Field({ row: Schema.NullOr(Schema.String) }),
  /** The idempotency key of the submission. */
  submission_key: Field({ row: Schema.String }),
  /** The carrier's id of the submission; null until the carrier has answered. */
  submission_id: Field({ row: Schema.NullOr(Schema.String) }),
  /** Questions to the carrier since the last step; the time until the next grows with it. */
  attempts: Field({ row: Schema.Int }),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})

import { Schema } from "effect"
import { isDay } from "../Day.ts"
import { Field, Fields } from "../EntityFields.ts"
import { BookingCustomerId } from "../Ids.ts"
import { Country, isEmail, optionalText, requiredText, type TextRule } from "../ValueRules.ts"
import { Timestamp } from "../Wire.ts"

/**
 * A detail: a value that clients set, a column keeps, and responses show. `initial` is its value in a new customer, and
 * after anonymization unless `CustomerDetails.anonymous` keeps the value.
 */
const detail = <Value extends Schema.Schema.Any, Body extends Schema.Schema.Any>(
  value: Value,
  body: Body,
  initial: () => Schema.Schema.Type<Value>
) =>
  Field({
    wire: value,
    create: Schema.optionalWith(body, { exact: true }),
    update: Schema.optionalWith(body, { exact: true }),
    row: value,
    insert: value,
    change: Schema.propertySignature(value).pipe(Schema.withConstructorDefault(initial))
  })

/** The description and examples of a value in the OpenAPI document. */
type Shown = Schema.Annotations.Doc<string | null>

/** A text that may be null. `body` describes it in bodies where that differs from responses. */
const optional = (field: string, rule: TextRule, shown: Shown, body: Shown = shown) =>
  detail(Schema.NullOr(Schema.String).annotations(shown), optionalText(field, rule).annotations(body), () => null)

const named = { examples: ["Anna de Vries"] } as const
const name = requiredText("name", {
  max: 200,
  check: (text) => (text === "" ? "name is required." : undefined),
  jsonSchema: { pattern: "\\S" }
}).annotations(named)

const language = { examples: ["nl"] } as const
const languageRule = "language must be a language code of at most 5 characters, as nl or nl-NL"
const consent = Schema.Boolean.annotations({ description: "Consent to marketing" })

const details = {
  name: Field({ ...detail(Schema.String.annotations(named), name, () => "").schemas, create: name }),
  email: optional(
    "email",
    {
      max: 254,
      check: (text) => (isEmail(text) ? undefined : "email must be a valid email address"),
      jsonSchema: { format: "email" }
    },
    { examples: ["anna@example.com"] }
  ),
  phone: optional(
    "phone",
    { max: 40 },
    { description: "E.164", examples: ["+31612345678"] },
    {
      description: "Read as a number of `country` where it has no country code; kept in E.164",
      examples: ["06 12345678"]
    }
  ),
  address: optional("address", { max: 200 }, { description: "Street and number", examples: ["Damrak 1"] }),
  postcode: optional(
    "postcode",
    { max: 20 },
    { examples: ["1012 LG"] },
    { description: "In the Netherlands four digits, a space and two letters", examples: ["1012 LG"] }
  ),
  city: optional("city", { max: 100 }, { examples: ["Amsterdam"] }),
  country: detail(
    Schema.String.annotations({ description: "ISO 3166-1 alpha-2", examples: ["NL"] }),
    Country,
    () => "NL"
  ),
  language: detail(
    Schema.String.annotations(language),
    requiredText("language", {
      max: 5,
      check: (text) => (/^[a-z]{2,3}(?:[-_][a-z]{2})?$/i.test(text) ? undefined : languageRule)
    }).annotations(language),
    () => "nl"
  ),
  birthdate: optional(
    "birthdate",
    {
      max: 10,
      check: (text) => (isDay(text) ? undefined : "birthdate must be a date, YYYY-MM-DD"),
      jsonSchema: { format: "date" }
    },
    { description: "YYYY-MM-DD", examples: ["1987-04-30"] },
    { examples: ["1987-04-30"] }
  ),
  marketing_opt_in: detail(consent, consent, () => false),
  notes: optional(
    "notes",
    { max: 5000 },
    { description: "Internal notes", examples: [null] },
    { description: "Internal notes", examples: ["Prefers mornings"] }
  )
}

/**
 * Every field of a booking customer. A new detail is one line in `details` and a column in a migration. Rules between
 * fields are the service's.
 */
export const CustomerFields = Fields({
  id: Field({ wire: BookingCustomerId, row: Schema.Int }),
  public_id: Field({ row: BookingCustomerId, insert: BookingCustomerId }),
  org_id: Field({ insert: Schema.Int }),
  ...details,
  total_bookings: Field({
    wire: Schema.Int.annotations({ description: "Kept by the service", examples: [0] }),
    row: Schema.Int
  }),
  is_anonymized: Field({
    wire: Schema.Boolean.annotations({ description: "Personal data was erased for good" }),
    row: Schema.Boolean
  }),
  deleted_at: Field({
    wire: Schema.NullOr(Timestamp).annotations({
      description: "When it went to the recycle bin, where it stays for 30 days",
      examples: [null]
    }),
    row: Schema.NullOr(Schema.DateFromSelf)
  }),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})

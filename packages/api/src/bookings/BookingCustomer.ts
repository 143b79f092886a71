import { Schema } from "effect"
import { BookingCustomerId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"

/** A booking customer: a direct booking party of an organization. */
export const BookingCustomer = Schema.Struct({
  id: BookingCustomerId,
  name: Schema.String.annotations({ examples: ["Anna de Vries"] }),
  email: Schema.NullOr(Schema.String).annotations({ examples: ["anna@example.com"] }),
  phone: Schema.NullOr(Schema.String).annotations({ description: "E.164", examples: ["+31612345678"] }),
  address: Schema.NullOr(Schema.String).annotations({ description: "Street and number", examples: ["Damrak 1"] }),
  postcode: Schema.NullOr(Schema.String).annotations({ examples: ["1012 LG"] }),
  city: Schema.NullOr(Schema.String).annotations({ examples: ["Amsterdam"] }),
  country: Schema.String.annotations({ description: "ISO 3166-1 alpha-2", examples: ["NL"] }),
  language: Schema.String.annotations({ examples: ["nl"] }),
  birthdate: Schema.NullOr(Schema.String).annotations({ description: "YYYY-MM-DD", examples: ["1987-04-30"] }),
  marketing_opt_in: Schema.Boolean.annotations({ description: "Consent to marketing" }),
  notes: Schema.NullOr(Schema.String).annotations({ description: "Internal notes", examples: [null] }),
  total_bookings: Schema.Int.annotations({ description: "Kept by the service", examples: [0] }),
  is_anonymized: Schema.Boolean.annotations({ description: "Personal data was erased for good" }),
  deleted_at: Schema.NullOr(Timestamp).annotations({
    description: "When it went to the recycle bin, where it stays for 30 days",
    examples: [null]
  }),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "BookingCustomer" })
export type BookingCustomer = typeof BookingCustomer.Type

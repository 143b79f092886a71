import type { BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import { ValidationError } from "@svc/api/WorkspaceError"
import { Either, Struct } from "effect"
import { toE164 } from "./PhoneNumber.ts"

/** What is known of a customer, as it is stored (spec 2.9). */
export type CustomerDetails = Required<BookingCustomerUpdate>

/** A customer of whom nothing was said. */
const blank: CustomerDetails = {
  name: "",
  email: null,
  phone: null,
  address: null,
  postcode: null,
  city: null,
  country: "NL",
  language: "nl",
  birthdate: null,
  marketing_opt_in: false,
  notes: null
}

const dutchPostcode = /^([1-9][0-9]{3}) ?([a-z]{2})$/i

/** `1234 AB`, however it was written. */
const toDutchPostcode = (text: string): string | undefined => {
  const [, digits, letters] = dutchPostcode.exec(text) ?? []
  return digits === undefined || letters === undefined ? undefined : `${digits} ${letters.toUpperCase()}`
}

/**
 * The details after a change, with phone and postcode in their one form, or what the change breaks between fields. A new
 * customer is a change to nothing. `today` is `YYYY-MM-DD`, UTC.
 */
export const change = (
  before: CustomerDetails | undefined,
  changes: BookingCustomerUpdate,
  today: string
): Either.Either<CustomerDetails, ValidationError> => {
  const after = { ...(before ?? blank), ...changes }
  const wrong: Record<string, string> = {}

  let { phone, postcode } = after
  if (phone !== null && phone !== before?.phone) {
    phone = toE164(phone, after.country) ?? null
    if (phone === null) wrong["phone"] = "phone must be a valid phone number"
  }
  if (postcode !== null && after.country === "NL") {
    postcode = toDutchPostcode(postcode) ?? null
    if (postcode === null) wrong["postcode"] = "postcode must be a Dutch postcode, as 1234 AB"
  }
  if (after.email === null && after.phone === null) {
    wrong["email"] = "email or phone is required."
    wrong["phone"] = "email or phone is required."
  }
  if (after.birthdate !== null && after.birthdate > today) wrong["birthdate"] = "birthdate must not be in the future"

  const [message, ...others] = new Set(Object.values(wrong))
  if (message === undefined) return Either.right({ ...after, phone, postcode })
  return Either.left(
    new ValidationError({ details: wrong, message: others.length === 0 ? message : "Several fields are not valid" })
  )
}

/** What is left of a customer whose personal data was erased (decisions §7.5): where, and in which language. */
export const anonymous = ({ country, language }: CustomerDetails): CustomerDetails => ({
  ...blank,
  name: "Anonymized",
  country,
  language
})

const fields = Struct.keys(blank)

/** The details of a customer. */
export const of = (customer: CustomerDetails): CustomerDetails => Struct.pick(customer, ...fields)

/** Whether two customers' details are the same. */
export const equal = (a: CustomerDetails, b: CustomerDetails): boolean => fields.every((field) => a[field] === b[field])

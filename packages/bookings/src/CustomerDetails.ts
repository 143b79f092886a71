import type { BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import { CustomerFields } from "@svc/api/bookings/CustomerFields"
import { pick, variant } from "@svc/api/EntityFields"
import { ValidationError } from "@svc/api/WorkspaceError"
import { Either, Struct } from "effect"
import { toE164 } from "./PhoneNumber.ts"

const Details = variant(CustomerFields, "change")

/** The stored fields of a customer that clients set. */
export type CustomerDetails = typeof Details.Type

/** A customer before the first change. */
export const blank: CustomerDetails = Details.make({})

const dutchPostcode = /^([1-9][0-9]{3}) ?([a-z]{2})$/i

/** A Dutch postcode in the form `1234 AB`. */
const toDutchPostcode = (text: string): string | undefined => {
  const [, digits, letters] = dutchPostcode.exec(text) ?? []
  return digits === undefined || letters === undefined ? undefined : `${digits} ${letters.toUpperCase()}`
}

/**
 * The details after a change, with phone and postcode normalized, or the violations by field. A new customer is a
 * change to an empty one. `today` is `YYYY-MM-DD`, UTC.
 */
export const change = (
  before: CustomerDetails | undefined,
  changes: BookingCustomerUpdate,
  today: string
): Either.Either<CustomerDetails, ValidationError> => {
  const after = { ...(before ?? blank), ...changes }
  const violations: Record<string, string> = {}

  let { phone, postcode } = after
  if (phone !== null && phone !== before?.phone) {
    phone = toE164(phone, after.country) ?? null
    if (phone === null) violations["phone"] = "phone must be a valid phone number"
  }
  if (postcode !== null && after.country === "NL") {
    postcode = toDutchPostcode(postcode) ?? null
    if (postcode === null) violations["postcode"] = "postcode must be a Dutch postcode, as 1234 AB"
  }
  if (after.email === null && after.phone === null) {
    violations["email"] = "email or phone is required."
    violations["phone"] = "email or phone is required."
  }
  if (after.birthdate !== null && after.birthdate > today)
    violations["birthdate"] = "birthdate must not be in the future"

  const [message, ...others] = new Set(Object.values(violations))
  if (message === undefined) return Either.right({ ...after, phone, postcode })
  return Either.left(
    new ValidationError({
      details: violations,
      message: others.length === 0 ? message : "Several fields are not valid"
    })
  )
}

/** The details that remain after erasure of personal data: country and language alone. */
export const anonymous = ({ country, language }: CustomerDetails): CustomerDetails => ({
  ...blank,
  name: "Anonymized",
  country,
  language
})

const keys = Struct.keys(Details.fields)

/** The details of a customer. */
export const of = (customer: CustomerDetails): CustomerDetails => pick(customer, keys)

/** Whether two customers' details are the same. */
export const equal = (a: CustomerDetails, b: CustomerDetails): boolean => keys.every((key) => a[key] === b[key])

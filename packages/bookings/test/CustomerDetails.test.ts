import { describe, expect, it } from "@effect/vitest"
import type { BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import { Either } from "effect"
import * as CustomerDetails from "../src/CustomerDetails.ts"

const today = "2026-11-21"
const create = (changes: BookingCustomerUpdate) =>
  CustomerDetails.change(undefined, { name: "Anna", email: "anna@example.com", ...changes }, today)

/** The violations by field; empty when the change is accepted. */
const violations = (result: ReturnType<typeof create>) => (Either.isLeft(result) ? result.left.details : {})

const accepted = (result: ReturnType<typeof create>) => Either.getOrThrow(result)

describe("The details of a customer", () => {
  it("begin with the defaults of a Dutch business", () => {
    expect(accepted(create({}))).toEqual({
      name: "Anna",
      email: "anna@example.com",
      phone: null,
      address: null,
      postcode: null,
      city: null,
      country: "NL",
      language: "nl",
      birthdate: null,
      marketing_opt_in: false,
      notes: null
    })
  })

  it.each([
    ["06 12345678", "NL", "+31612345678"],
    ["06-1234 5678", "NL", "+31612345678"],
    ["(020) 123 4567", "NL", "+31201234567"],
    ["0031 6 12345678", "NL", "+31612345678"],
    ["+44 20 7946 0958", "NL", "+442079460958"],
    ["020 7946 0958", "GB", "+442079460958"],
    ["(555) 010-0100", "US", "+15550100100"],
    ["030 123456", "DE", "+4930123456"]
  ])("keep the phone number %s of %s as %s", (phone, country, e164) => {
    expect(accepted(create({ phone, country })).phone).toBe(e164)
  })

  it.each(["12", "call me", "+31 6 12", "06 12345678 ext. 5", "++31612345678", "+999123456789", "06123456789012345"])(
    "refuse the phone number %s",
    (phone) => {
      expect(violations(create({ phone }))).toEqual({ phone: "phone must be a valid phone number" })
    }
  )

  it("keep the phone number unchanged when only the country changes", () => {
    const before = accepted(create({ phone: "06 12345678" }))
    expect(accepted(CustomerDetails.change(before, { country: "DE" }, today)).phone).toBe("+31612345678")
  })

  it.each(["1012 LG", "1012LG", "1012lg", "1012 lg"])("keep the Dutch postcode %s as 1012 LG", (postcode) => {
    expect(accepted(create({ postcode })).postcode).toBe("1012 LG")
  })

  it.each(["1012", "1012 L", "0123 AB", "10123 AB", "1012  LG", "1012-LG", "SW1A 1AA", "1012 LG x"])(
    "refuse the postcode %s in the Netherlands, and accept it in other countries",
    (postcode) => {
      expect(violations(create({ postcode }))).toEqual({ postcode: "postcode must be a Dutch postcode, as 1234 AB" })
      expect(accepted(create({ postcode, country: "GB" })).postcode).toBe(postcode)
    }
  )

  it("validate the postcode again when the country changes to NL", () => {
    const before = accepted(create({ postcode: "SW1A 1AA", country: "GB" }))
    expect(violations(CustomerDetails.change(before, { country: "NL" }, today))).toHaveProperty("postcode")
    expect(accepted(CustomerDetails.change(before, { country: "NL", postcode: "1012lg" }, today)).postcode).toBe(
      "1012 LG"
    )
    expect(accepted(CustomerDetails.change(before, { country: "NL", postcode: null }, today)).postcode).toBe(null)
  })

  it("always contain an email address or a phone number, also after a change", () => {
    const nothing = { email: "email or phone is required.", phone: "email or phone is required." }
    expect(violations(create({ email: null }))).toEqual(nothing)
    expect(violations(create({ email: null, phone: null }))).toEqual(nothing)
    const before = accepted(create({}))
    expect(violations(CustomerDetails.change(before, { email: null }, today))).toEqual(nothing)
    expect(accepted(CustomerDetails.change(before, { email: null, phone: "06 12345678" }, today)).email).toBe(null)
  })

  it("refuse a birthdate in the future", () => {
    expect(accepted(create({ birthdate: "2026-11-21" })).birthdate).toBe("2026-11-21")
    expect(violations(create({ birthdate: "2026-11-22" }))).toEqual({
      birthdate: "birthdate must not be in the future"
    })
  })

  it("report all violations at once", () => {
    const result = create({ phone: "x", postcode: "x", birthdate: "2030-01-01" })
    expect(Object.keys(violations(result) ?? {})).toEqual(["phone", "postcode", "birthdate"])
    expect(Either.isLeft(result) && result.left.message).toBe("Several fields are not valid")
  })

  it("change only in the given fields", () => {
    const before = accepted(create({ notes: "mornings", city: "Amsterdam" }))
    expect(accepted(CustomerDetails.change(before, { city: null }, today))).toEqual({ ...before, city: null })
  })

  it("contain no personal data after erasure", () => {
    const before = accepted(
      create({ phone: "06 12345678", notes: "x", birthdate: "1987-04-30", country: "NL", marketing_opt_in: true })
    )
    const after = CustomerDetails.anonymous(before)
    expect(JSON.stringify(after)).not.toMatch(/Anna"|anna|612345678|1987/)
    expect(after).toMatchObject({ country: "NL", language: "nl", marketing_opt_in: false })
  })
})

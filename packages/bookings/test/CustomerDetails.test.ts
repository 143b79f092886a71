import { describe, expect, it } from "@effect/vitest"
import type { BookingCustomerUpdate } from "@svc/api/bookings/BookingCustomerInput"
import { Either } from "effect"
import * as CustomerDetails from "../src/CustomerDetails.ts"

const today = "2026-11-21"
const create = (changes: BookingCustomerUpdate) =>
  CustomerDetails.change(undefined, { name: "Anna", email: "anna@example.com", ...changes }, today)

/** What is wrong, by field; nothing when it is taken. */
const wrong = (result: ReturnType<typeof create>) => (Either.isLeft(result) ? result.left.details : {})

const taken = (result: ReturnType<typeof create>) => Either.getOrThrow(result)

describe("a customer's details", () => {
  it("begin with the defaults of a Dutch business", () => {
    expect(taken(create({}))).toEqual({
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
    expect(taken(create({ phone, country })).phone).toBe(e164)
  })

  it.each(["12", "call me", "+31 6 12", "06 12345678 ext. 5", "++31612345678", "+999123456789", "06123456789012345"])(
    "refuse the phone number %s",
    (phone) => {
      expect(wrong(create({ phone }))).toEqual({ phone: "phone must be a valid phone number" })
    }
  )

  it("keep the phone number as it is when only the country changes", () => {
    const before = taken(create({ phone: "06 12345678" }))
    expect(taken(CustomerDetails.change(before, { country: "DE" }, today)).phone).toBe("+31612345678")
  })

  it.each(["1012 LG", "1012LG", "1012lg", "1012 lg"])("keep the Dutch postcode %s as 1012 LG", (postcode) => {
    expect(taken(create({ postcode })).postcode).toBe("1012 LG")
  })

  it.each(["1012", "1012 L", "0123 AB", "10123 AB", "1012  LG", "1012-LG", "SW1A 1AA", "1012 LG x"])(
    "refuse the Dutch postcode %s, which elsewhere is one",
    (postcode) => {
      expect(wrong(create({ postcode }))).toEqual({ postcode: "postcode must be a Dutch postcode, as 1234 AB" })
      expect(taken(create({ postcode, country: "GB" })).postcode).toBe(postcode)
    }
  )

  it("look at the postcode again when the customer moves to the Netherlands", () => {
    const before = taken(create({ postcode: "SW1A 1AA", country: "GB" }))
    expect(wrong(CustomerDetails.change(before, { country: "NL" }, today))).toHaveProperty("postcode")
    expect(taken(CustomerDetails.change(before, { country: "NL", postcode: "1012lg" }, today)).postcode).toBe("1012 LG")
    expect(taken(CustomerDetails.change(before, { country: "NL", postcode: null }, today)).postcode).toBe(null)
  })

  it("always have a way to reach the customer, also after a change", () => {
    const nothing = { email: "email or phone is required.", phone: "email or phone is required." }
    expect(wrong(create({ email: null }))).toEqual(nothing)
    expect(wrong(create({ email: null, phone: null }))).toEqual(nothing)
    const before = taken(create({}))
    expect(wrong(CustomerDetails.change(before, { email: null }, today))).toEqual(nothing)
    expect(taken(CustomerDetails.change(before, { email: null, phone: "06 12345678" }, today)).email).toBe(null)
  })

  it("have no birthdate in the future", () => {
    expect(taken(create({ birthdate: "2026-11-21" })).birthdate).toBe("2026-11-21")
    expect(wrong(create({ birthdate: "2026-11-22" }))).toEqual({ birthdate: "birthdate must not be in the future" })
  })

  it("tell of everything that is wrong at once", () => {
    const result = create({ phone: "x", postcode: "x", birthdate: "2030-01-01" })
    expect(Object.keys(wrong(result) ?? {})).toEqual(["phone", "postcode", "birthdate"])
    expect(Either.isLeft(result) && result.left.message).toBe("Several fields are not valid")
  })

  it("change only where something is said", () => {
    const before = taken(create({ notes: "mornings", city: "Amsterdam" }))
    expect(taken(CustomerDetails.change(before, { city: null }, today))).toEqual({ ...before, city: null })
  })

  it("lose everything personal when they are erased", () => {
    const before = taken(
      create({ phone: "06 12345678", notes: "x", birthdate: "1987-04-30", country: "NL", marketing_opt_in: true })
    )
    const after = CustomerDetails.anonymous(before)
    expect(JSON.stringify(after)).not.toMatch(/Anna"|anna|612345678|1987/)
    expect(after).toMatchObject({ country: "NL", language: "nl", marketing_opt_in: false })
  })
})

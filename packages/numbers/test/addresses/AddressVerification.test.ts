import { describe, expect, it } from "@effect/vitest"
import type { AddressStatus, NumberTypeVerdict } from "@svc/api/addresses/AddressFields"
import { assess, delayAfter, missingFields, refused } from "../../src/addresses/AddressVerification.ts"

const verdict = (
  type: NumberTypeVerdict["type"],
  status: NumberTypeVerdict["status"],
  rejection_reason: string | null = null
): NumberTypeVerdict => ({ type, status, rejection_reason })

const pending = {
  status: "pending",
  number_types: [verdict("local", "pending"), verdict("mobile", "pending")]
} as const
const verified = {
  status: "verified",
  number_types: [verdict("local", "verified"), verdict("mobile", "verified")]
} as const

describe("assess", () => {
  it.each<[AddressStatus, ReadonlyArray<NumberTypeVerdict>]>([
    ["verified", [verdict("local", "verified"), verdict("mobile", "verified")]],
    ["partially_verified", [verdict("local", "verified"), verdict("mobile", "rejected", "no local address")]],
    ["rejected", [verdict("local", "rejected", "not found"), verdict("mobile", "rejected", "not found")]]
  ])("makes a pending address %s when no verdict is pending", (status, number_types) => {
    expect(assess(pending, number_types)).toEqual({ _tag: "Transition", status, number_types })
    expect(assess({ status: "pending", number_types: [] }, number_types)).toMatchObject({ status })
  })

  it("keeps an address pending while a type is, also one that the answer leaves out, and keeps what is known", () => {
    const number_types = [verdict("local", "verified"), verdict("mobile", "pending")]
    expect(assess(pending, pending.number_types)).toEqual({ _tag: "Unchanged" })
    expect(assess(pending, number_types)).toEqual({ _tag: "Progress", number_types })
    expect(assess(pending, [verdict("local", "verified")])).toEqual({ _tag: "Progress", number_types })
    expect(assess({ ...pending, number_types }, [verdict("mobile", "verified")])).toMatchObject({ status: "verified" })
  })

  it("adds a type that was not known", () => {
    expect(assess(pending, [verdict("toll_free", "verified")])).toEqual({
      _tag: "Progress",
      number_types: [...pending.number_types, verdict("toll_free", "verified")]
    })
  })

  it("lets a verified address expire when one of its types does, and stay otherwise", () => {
    const one = [verdict("local", "expired"), verdict("mobile", "verified")]
    expect(assess(verified, one)).toEqual({ _tag: "Transition", status: "expired", number_types: one })
    expect(assess(verified, verified.number_types)).toEqual({ _tag: "Unchanged" })
  })

  it.each<[string, Parameters<typeof assess>[0], unknown]>([
    ["a pending address that expired", pending, [verdict("local", "expired")]],
    ["a verified address that is rejected", verified, [verdict("local", "rejected", "no")]],
    ["a verified address that is pending again", verified, [verdict("mobile", "pending")]],
    [
      "a verified address that expired in part and is pending",
      verified,
      [verdict("local", "expired"), verdict("mobile", "pending")]
    ],
    ["an unknown type", pending, [{ type: "satellite", status: "verified", rejection_reason: null }]],
    ["an unknown state", pending, [{ type: "local", status: "partially_verified", rejection_reason: null }]],
    ["a reason that is no text", pending, [{ type: "local", status: "rejected", rejection_reason: 7 }]],
    ["a type twice", pending, [verdict("local", "verified"), verdict("local", "rejected", "no")]],
    ["no verdict", pending, []],
    ["an object", pending, { local: "verified" }],
    ["a text", pending, "verified"],
    ["nothing", pending, undefined]
  ])("refuses %s", (_, current, answer) => {
    expect(assess(current, answer)).toEqual({ _tag: "Impossible", reason: expect.stringMatching(/\S/) })
  })

  it.each<AddressStatus>(["partially_verified", "rejected", "expired"])("changes nothing in a %s address", (status) => {
    expect(assess({ ...verified, status }, [verdict("local", "expired")])).toEqual({ _tag: "Unchanged" })
  })

  it("keeps reasons of rejections only, shortened to 500 characters", () => {
    const answer = [verdict("local", "rejected", ` ${"x".repeat(2000)} `), verdict("mobile", "verified", "well done")]
    expect(assess(pending, answer)).toMatchObject({
      number_types: [{ rejection_reason: "x".repeat(500) }, { rejection_reason: null }]
    })
  })
})

describe("refused", () => {
  it("rejects the types of the address, or all when none is known, with the reason", () => {
    expect(refused(pending.number_types, "no")).toEqual([
      verdict("local", "rejected", "no"),
      verdict("mobile", "rejected", "no")
    ])
    expect(refused([], "no").map(({ type }) => type)).toEqual(["local", "mobile", "toll_free"])
  })
})

describe("missingFields", () => {
  it("names the demanded fields that are null or empty", () => {
    const body = { customer_name: "A", street: "B 1", city: "C", postcode: "", region: null, country: "NL" }
    expect(missingFields(body, ["street", "region", "postcode"])).toEqual(["region", "postcode"])
  })
})

describe("delayAfter", () => {
  it("grows from 200 ms to 5 minutes while pending, and from 1 s to 6 hours when verified", () => {
    expect([1, 2, 3, 12, 10_000].map((n) => delayAfter("pending", n))).toEqual([200, 400, 800, 300_000, 300_000])
    expect([1, 2, 16, 10_000].map((n) => delayAfter("verified", n))).toEqual([1_000, 2_000, 21_600_000, 21_600_000])
    expect(delayAfter("pending", 0)).toBe(200)
  })
})

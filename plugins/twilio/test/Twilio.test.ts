import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import twilio from "../src/Twilio.ts"

describe("The settings of Twilio", () => {
  it("take an account SID that begins with AC, and none that could be another path of the API", () => {
    const accepts = (accountSid: string) =>
      Schema.decodeUnknownEither(twilio.config)({ accountSid, authToken: "token" })._tag === "Right"
    expect(["AC0123456789abcdef", "AC_test-1"].map(accepts)).toEqual([true, true])
    expect(["", "AC", "SK0123", "AC1/Calls", "AC1?x", "AC 1"].map(accepts)).toEqual(Array(6).fill(false))
  })
})

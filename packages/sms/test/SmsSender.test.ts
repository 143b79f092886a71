import { SenderName } from "@svc/api/sms/SmsLimits"
import { SmsSend } from "@svc/api/sms/SmsMessage"
import { Either, ParseResult, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { segmentsOf } from "../src/SmsSegments.ts"
import { senderOf } from "../src/SmsSender.ts"

const number = "+12025550100"

describe("the sender of a message", () => {
  it.each([
    ["the Netherlands", "+31612345678"],
    ["Germany", "+4915112345678"],
    ["Poland", "+48512345678"],
    ["the United Kingdom", "+447400123456"],
    ["Australia", "+61412345678"],
    ["Åland, a part of Finland", "+358181234567"],
    ["Réunion, a part of France", "+262692123456"],
    ["a Dutch number that no plan knows", "+31000000001"]
  ])("to %s may be a name", (_, to) => {
    expect(senderOf(to, number, "Shop")).toEqual({
      sender_type: "alphanumeric",
      sender_name: "Shop",
      from_number: null
    })
    expect(senderOf(to, number, null)).toEqual({ sender_type: "number", sender_name: null, from_number: number })
    expect(senderOf(to, number, "  ")).toMatchObject({ sender_type: "number" })
  })

  it.each([null, undefined, "", " "])("may be left out of a request: sender_name %j", (sender_name) => {
    const body = { from_number: number, to: "+31612345678", message: "Hi", sender_name }
    const sms = Schema.decodeUnknownSync(SmsSend)(body)
    expect(senderOf(sms.to, number, sms.sender_name ?? null)).toMatchObject({ sender_type: "number" })
  })

  it.each([
    ["the United States", "+12025550123"],
    ["Canada", "+16135550123"],
    ["Norway", "+4740612345"],
    ["Switzerland", "+41781234567"],
    ["Japan", "+819012345678"]
  ])("to %s is the number", (_, to) => {
    expect(senderOf(to, number, "Shop")).toEqual({ sender_type: "number", sender_name: null, from_number: number })
  })
})

describe("the parts of a message", () => {
  it.each([
    ["a".repeat(160), 1],
    ["a".repeat(161), 2],
    ["€".repeat(80), 1],
    ["€".repeat(81), 2],
    // 76 fit into 153 places: no part ends within a character of two.
    ["€".repeat(152), 2],
    ["€".repeat(153), 3],
    ["ñ".repeat(160), 1],
    ["ž".repeat(70), 1],
    ["ž".repeat(71), 2],
    [`${"a".repeat(69)}😀`, 2],
    // 33 emoji of two units fit into 67.
    ["😀".repeat(66), 2],
    ["😀".repeat(67), 3],
    ["ž".repeat(160), 3]
  ])("are as many as carriers bill (%#)", (message, segments) => {
    expect(segmentsOf(message)).toBe(segments)
  })
})

describe("sender_name", () => {
  const errorOf = (name: string) =>
    Either.match(Schema.decodeUnknownEither(SenderName)(name), {
      onLeft: (error) => ParseResult.ArrayFormatter.formatErrorSync(error)[0]?.message,
      onRight: () => undefined
    })

  it.each(["Shop", "7-Eleven", "B&B Müller", "Ærø", "A", "", "  ", "12345678901".replace("1", "x")])(
    "may be %j",
    (name) => {
      expect(errorOf(name)).toBeUndefined()
    }
  )

  it.each([
    ["twelve chars", "sender_name must not exceed 11 characters"],
    ["31612345678", "sender_name must have at least one letter"],
    ["112", "sender_name must have at least one letter"],
    ["Šhop", "sender_name must have only letters, digits, spaces and punctuation of the GSM alphabet"],
    ["Shop\n", "sender_name must have only letters, digits, spaces and punctuation of the GSM alphabet"],
    ["Sh\u200bop", "sender_name must have only letters, digits, spaces and punctuation of the GSM alphabet"],
    ["Shop 😀", "sender_name must have only letters, digits, spaces and punctuation of the GSM alphabet"]
  ])("%j is refused: %s", (name, message) => {
    expect(errorOf(name)).toBe(message)
  })
})

import { describe, expect, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { CallsQuery } from "../src/calls/CallsApi.ts"

const decode = Schema.decodeUnknownEither(CallsQuery)
const isValid = (query: { readonly [name: string]: string }): boolean => Either.isRight(decode(query))

describe("Queries", () => {
  it("accept a limit only if it is a decimal integer within its range", () => {
    expect(Either.getOrThrow(decode({})).limit).toBe(50)
    expect(Either.getOrThrow(decode({ limit: "100" })).limit).toBe(100)
    for (const limit of [
      "0",
      "101",
      "-1",
      "1.5",
      "1e1",
      "0x10",
      " 10",
      "10 ",
      "",
      "ten",
      "Infinity",
      "9".repeat(400)
    ]) {
      expect([limit, isValid({ limit })]).toEqual([limit, false])
    }
  })

  it("accept only days that exist in the calendar", () => {
    for (const from_date of ["2026-01-31", "2024-02-29", "0001-01-01"]) {
      expect([from_date, isValid({ from_date })]).toEqual([from_date, true])
    }
    for (const to_date of [
      "2026-02-30",
      "2025-02-29",
      "2026-13-01",
      "2026-00-10",
      "0000-01-01",
      "2026-01-32",
      "2026-1-1",
      "today"
    ]) {
      expect([to_date, isValid({ to_date })]).toEqual([to_date, false])
    }
  })
})

import { expect, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { round4, toNumber } from "../src/Money.ts"

it.each([
  ["0.00005", 0.0001],
  ["-0.00005", -0.0001],
  ["0.00004999", 0],
  ["12.34565", 12.3457],
  ["0.1", 0.1],
  ["900000000000.1234", 900000000000.1234]
])("an amount of %s EUR is rounded and sent as %d: 4 decimals, halves away from zero", (text, number) => {
  const amount = BigDecimal.unsafeFromString(text)
  expect(toNumber(amount)).toBe(number)
  expect(BigDecimal.equals(round4(amount), BigDecimal.unsafeFromString(String(number)))).toBe(true)
})

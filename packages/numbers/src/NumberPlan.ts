import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import parse from "libphonenumber-js/max"
import metadata from "libphonenumber-js/max/metadata"

/** What the world's numbering plans say of a number. */
export interface NumberFacts {
  /** ISO 3166-1 alpha-2; `ZZ` (unknown) where the number belongs to no country. */
  readonly country: string
  readonly type: PhoneNumber["type"]
}

/**
 * Country and kind of an E.164 number. One that the plan does not know (in a test network, or newer than our data) is
 * taken as a local number of the main country of its calling code.
 */
export const factsOf = (number: string): NumberFacts => {
  const parsed = parse(number)
  if (parsed === undefined) return { country: "ZZ", type: "local" }
  const type = parsed.getType()
  return {
    country: parsed.country ?? metadata.country_calling_codes[parsed.countryCallingCode]?.[0] ?? "ZZ",
    type: type === "MOBILE" ? "mobile" : type === "TOLL_FREE" ? "toll_free" : "local"
  }
}

/**
 * The E.164 numbers that a dialled string may mean, the most literal first. Carriers send it with or without the plus,
 * with `00`, or with spaces and dashes.
 */
export const candidatesOf = (dialled: string): ReadonlyArray<string> => {
  const compact = dialled.replace(/[\s().-]/g, "")
  const digits = compact.replace(/^\+/, "")
  if (!/^[0-9]{3,20}$/.test(digits)) return []
  const literal = `+${digits}`
  if (compact.startsWith("+")) return [literal, ...meantBy(dialled)]
  return digits.startsWith("00") ? [`+${digits.slice(2)}`] : [literal, ...meantBy(literal)]
}

/** What the numbering plan makes of it, e.g. `+31 (0)20 …`, which people write and some carriers send. */
const meantBy = (text: string): ReadonlyArray<string> => {
  const parsed = parse(text)
  return parsed?.isValid() === true ? [parsed.number] : []
}

import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import parse from "libphonenumber-js/max"
import metadata from "libphonenumber-js/max/metadata"

/** Country and type of a number by the world's numbering plans. */
export interface NumberFacts {
  /** ISO 3166-1 alpha-2; `ZZ` (unknown) where the number belongs to no country. */
  readonly country: string
  readonly type: PhoneNumber["type"]
}

/**
 * Country and type of an E.164 number. A number that no plan contains (of a test network, or newer than our data)
 * counts as a local number of the main country of its calling code.
 */
export const numberFactsOf = (number: string): NumberFacts => {
  const parsed = parse(number)
  if (parsed === undefined) return { country: "ZZ", type: "local" }
  const type = parsed.getType()
  return {
    country: parsed.country ?? metadata.country_calling_codes[parsed.countryCallingCode]?.[0] ?? "ZZ",
    type: type === "MOBILE" ? "mobile" : type === "TOLL_FREE" ? "toll_free" : "local"
  }
}

/** Whether a call or a message to the number costs its sender a premium. */
export const isPremiumRate = (number: string): boolean => parse(number)?.getType() === "PREMIUM_RATE"

/** Whether a country has numbers of this length. Not whether it has this range: new ranges are newer than our data. */
export const isPossibleNumber = (number: string): boolean => parse(number)?.isPossible() === true

/**
 * The E.164 numbers that a dialled string may mean, the most literal first. Carriers send it with or without the plus,
 * with `00`, or with spaces and dashes.
 */
export const candidatesOf = (dialled: string): ReadonlyArray<string> => {
  const compact = dialled.replace(/[\s().-]/g, "")
  const digits = compact.replace(/^\+/, "")
  if (!/^[0-9]{3,20}$/.test(digits)) return []
  const literal = `+${digits}`
  if (compact.startsWith("+")) return [literal, ...validNumberOf(dialled)]
  return digits.startsWith("00") ? [`+${digits.slice(2)}`] : [literal, ...validNumberOf(literal)]
}

/** The valid number that a notation such as `+31 (0)20 …` stands for, which people write and some carriers send. */
const validNumberOf = (text: string): ReadonlyArray<string> => {
  const parsed = parse(text)
  return parsed?.isValid() === true ? [parsed.number] : []
}

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

/** The fewest characters of an E.164 number, with its plus. */
const shortestNumber = 8

/**
 * Where a call to a number is connected: by the number, or by its longest part that is a valid number, because networks
 * ignore digits after a complete one.
 */
const connected = (number: string): ReturnType<typeof parse> => {
  for (let length = number.length; length >= shortestNumber; length--) {
    const parsed = parse(number.slice(0, length))
    if (parsed?.isValid() === true) return parsed
  }
  return undefined
}

/** Whether calls and texts to a number are expensive because of its kind, and its country. */
export interface DialledFacts {
  /**
   * `premium-rate`: its owner earns by the call. `satellite`: a satellite or international network, where calls cost most
   * (ITU-T E.164 assigned country codes 870 to 874, 881, 882, 883).
   */
  readonly kind: "premium-rate" | "satellite" | "ordinary"
  /** As in {@link NumberFacts}. */
  readonly country: string
}

/** What is known about an E.164 number before it is called or texted. */
export const dialledFactsOf = (number: string): DialledFacts => {
  const { country } = numberFactsOf(connected(number)?.number ?? number)
  if (/^\+(87[0-4]|88[123])/.test(number)) return { kind: "satellite", country }
  // 979 is the international premium-rate service.
  const isPremium = number.startsWith("+979") || connected(number)?.getType() === "PREMIUM_RATE"
  return { kind: isPremium ? "premium-rate" : "ordinary", country }
}

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

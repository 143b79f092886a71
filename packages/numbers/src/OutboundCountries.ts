import { isSupportedCountry } from "libphonenumber-js/max"
import { dialledFactsOf } from "./NumberPlan.ts"

/** The countries whose numbers may be called and texted, by ISO 3166-1 alpha-2 code: all, or these, which may be none. */
export type OutboundCountries = "all" | ReadonlySet<string>

/** What {@link countriesOf} reads, for messages. */
export const countriesSyntax = "all, none, or a comma-separated list of ISO country codes, such as NL,BE,GB"

/** Reads `all`, `none` or a comma-separated list of ISO country codes; undefined: it is none of these. */
export const countriesOf = (text: string): OutboundCountries | undefined => {
  const codes = text
    .trim()
    .toUpperCase()
    .split(",")
    .map((code) => code.trim())
  const [first = ""] = codes
  if (codes.length === 1 && first === "ALL") return "all"
  if (codes.length === 1 && first === "NONE") return new Set()
  return codes.every((code) => isSupportedCountry(code)) ? new Set(codes) : undefined
}

/** As {@link countriesOf} reads it, in the order of the alphabet. */
export const countriesText = (countries: OutboundCountries): string => {
  if (countries === "all") return "all"
  return countries.size === 0 ? "none" : [...countries].sort().join(",")
}

/** How many countries a refusal names. */
const mostNamed = 10

const namesOf = (countries: ReadonlySet<string>): string => {
  const names = [...countries].sort()
  const more = names.length - mostNamed
  return more > 0 ? `${names.slice(0, mostNamed).join(", ")} and ${more} more` : names.join(", ")
}

/**
 * Why a number must not be called or texted, as text that follows the name of the field; null: it may. Premium-rate numbers and
 * those of satellite networks never may. A number that no numbering plan contains is of the main country of its calling
 * code, and of none where there is no such code.
 */
export const outboundRefusal = (number: string, countries: OutboundCountries): string | null => {
  const { country, kind } = dialledFactsOf(number)
  if (kind === "premium-rate") return "must not be a premium-rate number"
  if (kind === "satellite") return "must not be a number of a satellite or international network"
  if (countries === "all" || countries.has(country)) return null
  if (countries.size === 0) return "cannot be a number of any country: the organization may not call or text"
  const own = country === "ZZ" ? "it is of no country" : `it is of ${country}`
  return `must be a number of a country that may be called (${namesOf(countries)}); ${own}`
}

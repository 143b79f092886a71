import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js"

const known = (country: string): CountryCode | undefined => (isSupportedCountry(country) ? country : undefined)

/**
 * A number as people write it, in E.164; without a country code it is read as one of `country` (ISO 3166-1 alpha-2).
 * Undefined when it is none, or has an extension, which E.164 cannot hold.
 */
export const toE164 = (text: string, country: string): string | undefined => {
  const defaultCountry = known(country)
  const number = parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) })
  return number?.isPossible() && number.ext === undefined ? number.number : undefined
}

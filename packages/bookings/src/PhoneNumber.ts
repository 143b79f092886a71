import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js"

const supported = (country: string): CountryCode | undefined => (isSupportedCountry(country) ? country : undefined)

/**
 * Parses a phone number in any common notation to E.164; without a country code as one of `country` (ISO 3166-1
 * alpha-2). Undefined if invalid, or with an extension, which E.164 cannot represent.
 */
export const toE164 = (text: string, country: string): string | undefined => {
  const defaultCountry = supported(country)
  const number = parsePhoneNumberFromString(text, { extract: false, ...(defaultCountry && { defaultCountry }) })
  return number?.isPossible() && number.ext === undefined ? number.number : undefined
}

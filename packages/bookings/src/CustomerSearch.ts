/** Normalizes a text for search: lower case, without diacritics, in one form of each character. */
export const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/** A hash of each character as three letters or digits. */
const codes = (text: string): string => {
  let out = ""
  // 7919 has no divisor in common with 36³: neighbours in the alphabet get codes that differ in all three places.
  for (const character of text)
    out += (((character.codePointAt(0) ?? 0) * 7919) % 36 ** 3).toString(36).padStart(3, "0")
  return out
}

/** The search columns of a customer, in which `q` is searched. */
export const searchColumns = (customer: {
  readonly name: string
  readonly email: string | null
  readonly phone: string | null
}): { readonly search: string; readonly search_codes: string } => {
  const search = fold([customer.name, customer.email, customer.phone].filter((text) => text !== null).join("\n"))
  return { search, search_codes: codes(search) }
}

/** Escapes a text for LIKE. */
const escapeLike = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** The patterns for LIKE of a `q`. */
export interface SearchTerm {
  /** One of these must match `search`. */
  readonly patterns: readonly [string, ...ReadonlyArray<string>]
  /** This must match `search_codes`; present when the text is too short for the index on `search`. */
  readonly codesPattern: string | undefined
}

/** The digits of a text that may be a phone number, without separators and leading zeros. */
const phoneDigits = (text: string): string | undefined => {
  const digits = text.replace(/[\s().-]/g, "")
  return /^(?:\+|0+)?([1-9][0-9]{2,})$/.exec(digits)?.[1]
}

/** Parses `q`; undefined when it is empty. A text that may be a phone number also searches phone numbers, in E.164. */
export const searchTermOf = (q: string): SearchTerm | undefined => {
  const text = fold(q.trim())
  if (text === "") return undefined
  const digits = phoneDigits(text)
  const contained = `%${escapeLike(text)}%`
  return {
    // The phone number is the last line and begins with a plus sign.
    patterns: digits === undefined ? [contained] : [contained, `%\n+%${digits}%`],
    codesPattern: [...text].length < 3 ? `%${codes(text)}%` : undefined
  }
}

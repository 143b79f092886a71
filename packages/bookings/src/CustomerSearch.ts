/** A text as search sees it: in small letters, without accents and other marks, in one form of each character. */
export const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/** Each character as three letters or digits, the same ones each time; two characters may happen to share theirs. */
const codes = (text: string): string => {
  let out = ""
  // 7919 has no divisor in common with 36³: neighbours in the alphabet get codes that differ in all three places.
  for (const character of text)
    out += (((character.codePointAt(0) ?? 0) * 7919) % 36 ** 3).toString(36).padStart(3, "0")
  return out
}

/** What `q` looks in: the columns of a customer that are for search. */
export const searchColumns = (customer: {
  readonly name: string
  readonly email: string | null
  readonly phone: string | null
}): { readonly search: string; readonly search_codes: string } => {
  const search = fold([customer.name, customer.email, customer.phone].filter((text) => text !== null).join("\n"))
  return { search, search_codes: codes(search) }
}

/** A text as a pattern for LIKE that means these very characters. */
const literally = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** What `q` asks for, as patterns for LIKE. */
export interface Needle {
  /** One of these has to fit `search`. */
  readonly patterns: readonly [string, ...ReadonlyArray<string>]
  /** And this `search_codes`: given where the part is too short for the index of `search`. */
  readonly coded: string | undefined
}

/** The digits of what may be a phone number as people write it: without separators, and without the zeros before it. */
const phoneDigits = (text: string): string | undefined => {
  const digits = text.replace(/[\s().-]/g, "")
  return /^(?:\+|0+)?([1-9][0-9]{2,})$/.exec(digits)?.[1]
}

/** Reads `q`; undefined when it asks for nothing. What may be a phone number is also looked for among those, in E.164. */
export const needle = (q: string): Needle | undefined => {
  const text = fold(q.trim())
  if (text === "") return undefined
  const digits = phoneDigits(text)
  const anywhere = `%${literally(text)}%`
  return {
    // The phone number is the last line, and begins with a plus.
    patterns: digits === undefined ? [anywhere] : [anywhere, `%\n+%${digits}%`],
    coded: [...text].length < 3 ? `%${codes(text)}%` : undefined
  }
}

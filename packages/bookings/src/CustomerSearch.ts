/** A text as search sees it: in small letters, without accents and other marks, in one form of each character. */
export const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/** What `q` looks in. */
export const haystack = (customer: {
  readonly name: string
  readonly email: string | null
  readonly phone: string | null
}): string => fold([customer.name, customer.email, customer.phone].filter((text) => text !== null).join("\n"))

/** A text as a pattern for LIKE that means these very characters. */
const literally = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** What `q` asks for. */
export interface Needle {
  readonly text: string
  /** Patterns for LIKE; one of them has to fit. */
  readonly patterns: readonly [string, ...ReadonlyArray<string>]
}

/** The digits of what may be a phone number as people write it: without separators, and without the zeros before it. */
const phoneDigits = (text: string): string | undefined => {
  const digits = text.replace(/[\s().-]/g, "")
  return /^\+?[0-9]{4,}$/.test(digits) ? digits.replace(/^\+|^0+/, "") : undefined
}

/** Reads `q`; undefined when it asks for nothing. What may be a phone number is also looked for among those, in E.164. */
export const needle = (q: string): Needle | undefined => {
  const text = fold(q.trim())
  if (text === "") return undefined
  const digits = phoneDigits(text)
  const anywhere = `%${literally(text)}%`
  // The phone number is the last line, and begins with a plus.
  return { text, patterns: digits === undefined ? [anywhere] : [anywhere, `%\n+%${digits}%`] }
}

/** Each character twice: see the index of short parts in the migration. */
export const doubled = (text: string): string => text.replace(/./gsu, "$&$&")

/** The pattern that finds a short text in the doubled haystack. */
export const doubledPattern = (text: string): string => `%${literally(doubled(text))}%`

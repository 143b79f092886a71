/** What may be an escape of JSON for U+0000 or a surrogate; found fast. */
const suspicious = /\\u(?:0000|d[89a-f])/i
/** Such an escape; not a text that has one in it, as bodies of requests do. */
const forbidden = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i
const clean = (text: string): string => text.replaceAll("\u0000", "").replace(/\p{Surrogate}/gu, "\ufffd")

/**
 * JSON text that a `jsonb` column accepts. PostgreSQL refuses U+0000 and unpaired surrogates, which JSON allows: the
 * first is removed, the others become U+FFFD.
 */
export const jsonbText = (value: unknown): string => {
  const text = JSON.stringify(value)
  if (!suspicious.test(text) || !forbidden.test(text)) return text
  return JSON.stringify(value, (_key, entry: unknown) => {
    if (typeof entry === "string") return clean(entry)
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry
    return Object.fromEntries(Object.entries(entry).map(([key, inner]) => [clean(key), inner]))
  })
}

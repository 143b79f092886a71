/**
 * Values from outside may hold what the database refuses: NUL characters, lone surrogates, and unlimited nesting.
 * They are replaced once, when an input is fed. Fields of nested objects are sorted as jsonb returns them, so that text
 * made of them is the same when the journal is replayed.
 */

/** Levels of objects and arrays that are kept; deeper values become null, because the stack is limited. */
const maxDepth = 100

const text = (value: string): string =>
  value.isWellFormed() && !value.includes("\0") ? value : value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD")

/** Parts that were cleaned before the input that they are in. */
const cleanedParts = new WeakSet<object>()

const clean = (value: unknown, level: number): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null || cleanedParts.has(value)) return value
  if (level === maxDepth) return null
  if (Array.isArray(value)) return value.map((inner: unknown) => clean(inner, level + 1))
  const fields = Object.entries(value).map(([given, inner]): Field => {
    const key = text(given)
    return { key, bytes: Buffer.byteLength(key), value: clean(inner, level + 1) }
  })
  // The input itself is decoded by its schema, which sets the order.
  if (level > 0) fields.sort(inJsonbOrder)
  const cleaned: Record<string, unknown> = {}
  for (const field of fields) {
    if (field.key === "__proto__") return Object.fromEntries(fields.map(({ key, value }) => [key, value]))
    cleaned[field.key] = field.value
  }
  return cleaned
}

interface Field {
  readonly key: string
  /** Length of the key in UTF-8. */
  readonly bytes: number
  readonly value: unknown
}

/** The order of jsonb: shorter keys first (in UTF-8), then by bytes. */
const inJsonbOrder = (a: Field, b: Field): number => a.bytes - b.bytes || inUtf8Order(a.key, b.key)

const inUtf8Order = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const one = a.charCodeAt(at)
    const other = b.charCodeAt(at)
    if (one !== other) return utf8Rank(one) - utf8Rank(other)
  }
  return a.length - b.length
}

/** UTF-16 orders surrogates below U+E000 to U+FFFF, UTF-8 above. */
const utf8Rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** The same JSON value with all its text well-formed, and no deeper than {@link maxDepth}. */
export const wellFormed = <A>(value: A): A => clean(value, 0) as A // keeps the shape, except for values nested too deep

/** The same for a part of an input that is `level` levels deep in it; cleaning the input then takes it as it is. */
export const wellFormedPart = <A>(part: A, level: number): A => {
  const cleaned = clean(part, level)
  if (typeof cleaned === "object" && cleaned !== null) cleanedParts.add(cleaned)
  return cleaned as A // as above
}

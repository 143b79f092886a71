/**
 * Values from outside may hold what the database refuses: NUL characters, lone surrogates, and unlimited nesting.
 * They are replaced once, when an input is fed. Fields of nested objects are sorted as jsonb returns them, so that text
 * made of them is the same when the journal is replayed.
 */

/** Levels of objects and arrays that are kept; deeper values become null, because the stack is limited. */
const maxDepth = 100

const text = (value: string): string => value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD")

const clean = (value: unknown, level: number): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return value
  if (level === maxDepth) return null
  if (Array.isArray(value)) return value.map((inner: unknown) => clean(inner, level + 1))
  const entries = Object.entries(value).map(([key, inner]) => [text(key), clean(inner, level + 1)] as const)
  // The input itself is decoded by its schema, which sets the order.
  return Object.fromEntries(level === 0 ? entries : entries.sort(([a], [b]) => inJsonbOrder(a, b)))
}

/** The order of jsonb: shorter keys first (in UTF-8), then by bytes. */
const inJsonbOrder = (a: string, b: string): number =>
  Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The same JSON value with all its text well-formed, and no deeper than {@link maxDepth}. */
export const wellFormed = <A>(value: A): A => clean(value, 0) as A // keeps the shape, except for values nested too deep

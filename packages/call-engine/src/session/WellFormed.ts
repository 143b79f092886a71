/**
 * Values from outside may hold what no database takes: NUL characters, halves of surrogate pairs, and nesting without
 * end. They are replaced when they come in, once, so that nothing further on has to think of them. Fields of objects inside
 * are brought into the order in which jsonb gives them back: then a text made of them is the same when a journal is played
 * again.
 */

/** Levels of objects and arrays that are kept; what is deeper becomes null. Nobody means more, and stacks end. */
const deepest = 100

const text = (value: string): string => value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD")

const clean = (value: unknown, level: number): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return value
  if (level === deepest) return null
  if (Array.isArray(value)) return value.map((inner: unknown) => clean(inner, level + 1))
  const entries = Object.entries(value).map(([key, inner]) => [text(key), clean(inner, level + 1)] as const)
  // The input itself is read by its schema, which has an order of its own.
  return Object.fromEntries(level === 0 ? entries : entries.sort(([a], [b]) => asStored(a, b)))
}

/** The shorter key in UTF-8 first, then by bytes. */
const asStored = (a: string, b: string): number =>
  Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The same JSON value with all its text well-formed, and no deeper than {@link deepest}. */
export const wellFormed = <A>(value: A): A => clean(value, 0) as A // the shape that anyone reads is kept

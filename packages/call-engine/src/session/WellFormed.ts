/**
 * Values from outside may hold what no database takes: NUL characters, halves of surrogate pairs, and nesting without
 * end. They are replaced when they come in, once, so that nothing further on has to think of them.
 */

/** Levels of objects and arrays that are kept; what is deeper becomes null. Nobody means more, and stacks end. */
const deepest = 100

const text = (value: string): string => value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD")

const clean = (value: unknown, level: number): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return value
  if (level === deepest) return null
  if (Array.isArray(value)) return value.map((inner: unknown) => clean(inner, level + 1))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), clean(inner, level + 1)]))
}

/** The same JSON value with all its text well-formed, and no deeper than {@link deepest}. */
export const wellFormed = <A>(value: A): A => clean(value, 0) as A // the shape that anyone reads is kept

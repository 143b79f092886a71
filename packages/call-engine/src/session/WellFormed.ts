/**
 * Text from outside may hold what no database takes: NUL characters and halves of surrogate pairs. They are replaced
 * when they come in, once, so that nothing further on has to think of them.
 */
const text = (value: string): string => value.replace(/[\0\p{Surrogate}]/gu, "\uFFFD")

const clean = (value: unknown): unknown => {
  if (typeof value === "string") return text(value)
  if (Array.isArray(value)) return value.map(clean)
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), clean(inner)]))
  }
  return value
}

/** The same JSON value with all its text well-formed. */
export const wellFormed = <A>(value: A): A => clean(value) as A // the shape is kept: only characters change

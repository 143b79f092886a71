/**
 * Compares a value with an expected one of a script:
 *
 * | expected | matches |
 * |---|---|
 * | an object | an object that has at least these fields, with values that match |
 * | a list | a list of the same length, with entries that match |
 * | `/text/` | a text, number or boolean in which the regular expression occurs, ignoring case |
 * | any other | the same value |
 */

/** The longest value in a message, in characters. */
const maxShown = 200

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A value as JSON, shortened. */
export const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "undefined"
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}…`
}

const sourceOf = (expected: unknown): string | undefined =>
  typeof expected === "string" ? /^\/(.+)\/$/s.exec(expected)?.[1] : undefined

/** Why an expected value cannot be used: one of its patterns does not compile. */
export const patternFault = (expected: unknown): string | undefined => {
  const source = sourceOf(expected)
  if (source !== undefined) {
    try {
      new RegExp(source, "iu")
    } catch (error) {
      return error instanceof Error ? error.message : "not a regular expression"
    }
  }
  if (typeof expected !== "object" || expected === null) return undefined
  for (const part of Object.values(expected)) {
    const fault = patternFault(part)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Every difference, with its place: `arguments.time is "9:00" instead of "10:30"`. None: the value matches. */
export const differences = (place: string, value: unknown, expected: unknown): ReadonlyArray<string> => {
  if (value === undefined) return [`${place} is missing instead of ${shown(expected)}`]
  const other = () => [`${place} is ${shown(value)} instead of ${shown(expected)}`]
  if (isObject(expected)) {
    if (!isObject(value)) return other()
    return Object.entries(expected).flatMap(([key, part]) =>
      differences(`${place}.${key}`, Object.hasOwn(value, key) ? value[key] : undefined, part)
    )
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(value) || value.length !== expected.length) return other()
    return expected.flatMap((part: unknown, n) => differences(`${place}[${n}]`, value[n], part))
  }
  const source = sourceOf(expected)
  const isText = typeof value === "string" || typeof value === "number" || typeof value === "boolean"
  if (source !== undefined && isText && new RegExp(source, "iu").test(String(value))) return []
  return value === expected ? [] : other()
}

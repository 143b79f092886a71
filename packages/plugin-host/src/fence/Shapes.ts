import { errorSummary } from "../ErrorSummary.ts"

/**
 * What is wrong with a value that a plugin gave us, if anything. A plugin may be plain JavaScript, so nothing of what its
 * types promise is certain; a wrong value would throw later in our own code, or spoil the journal. Messages name the
 * kind of a wrong value and not the value, which may be personal data.
 */
export type Problem = string | undefined

export type Check = (value: unknown) => Problem

/** Applies a check. A value whose properties cannot be read is wrong too. */
export const problemOf = (check: Check, value: unknown): Problem => {
  try {
    return check(value)
  } catch (defect) {
    return `it cannot be read: ${errorSummary(defect)}`
  }
}

export const isRecord = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null

/** What a wrong value is. */
export const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return "an array"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

const kinds = {
  string: (value: unknown) => typeof value === "string",
  "string or null": (value: unknown) => value === null || typeof value === "string",
  "string or undefined": (value: unknown) => value === undefined || typeof value === "string",
  boolean: (value: unknown) => typeof value === "boolean",
  "finite number": (value: unknown) => Number.isFinite(value),
  "finite number or undefined": (value: unknown) => value === undefined || Number.isFinite(value),
  function: (value: unknown) => typeof value === "function",
  "function or undefined": (value: unknown) => value === undefined || typeof value === "function",
  object: (value: unknown) => isRecord(value) && !Array.isArray(value),
  Uint8Array: (value: unknown) => value instanceof Uint8Array,
  Int16Array: (value: unknown) => value instanceof Int16Array
} as const

type Kind = keyof typeof kinds

/** Whether a value is of the kind; the problem names `what`. */
export const is = (what: string, kind: Kind, value: unknown): Problem =>
  kinds[kind](value) ? undefined : `${what} must be ${article(kind)} ${kind}, not ${kindOf(value)}`

const article = (kind: Kind) => (/^[aeoI]/.test(kind) ? "an" : "a")

export const oneOf = (what: string, values: ReadonlyArray<string | number>, value: unknown): Problem =>
  values.some((one) => one === value) ? undefined : `${what} must be one of ${values.join(", ")}`

/** The first wrong field of an object. What is checked is prepared once: a leg is checked several times a second. */
export const fields = (what: string, wanted: { readonly [field: string]: Kind }): Check => {
  const checks = Object.entries(wanted).map(([field, kind]) => ({ field, kind, isRight: kinds[kind] }))
  return (value) => {
    if (!isRecord(value)) return `${what} must be an object, not ${kindOf(value)}`
    for (const { field, isRight, kind } of checks) {
      const given = value[field]
      if (!isRight(given)) return is(`${what}.${field}`, kind, given)
    }
    return undefined
  }
}

import { isRecord } from "./ApiClient.ts"

/** The type of a field; with `?` it may also be null. */
export type Kind = "text" | "integer" | "number" | "boolean" | "object" | "list" | "texts" | "time" | "any"
export interface Shape {
  readonly [field: string]: Kind | `${Kind}?`
}

const checks: { readonly [K in Kind]: (value: unknown) => boolean } = {
  text: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number" && Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  object: isRecord,
  list: Array.isArray,
  texts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  time: (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value),
  any: (value) => value !== undefined
}

const isKind = (name: string): name is Kind => Object.hasOwn(checks, name)

/** What is wrong with a value: fields that are missing, unexpected or of another type; empty when it fits exactly. */
export const misfits = (shape: Shape, value: unknown): ReadonlyArray<string> => {
  if (!isRecord(value)) return [`not an object: ${JSON.stringify(value)}`]
  const wrong = Object.entries(shape).flatMap(([field, expected]) => {
    const kind = expected.replace("?", "")
    if (value[field] === null && expected.endsWith("?")) return []
    return isKind(kind) && checks[kind](value[field])
      ? []
      : [`${field} must be ${expected} and is ${JSON.stringify(value[field])}`]
  })
  const unknown = Object.keys(value).flatMap((field) => (field in shape ? [] : [`${field} is unknown`]))
  return [...wrong, ...unknown]
}

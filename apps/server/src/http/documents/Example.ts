import type { Contract, JsonSchema } from "./Contract.ts"

type Schemas = Contract["components"]["schemas"]

/** The schema that a reference names. */
export const resolve = (schema: JsonSchema, schemas: Schemas): JsonSchema => {
  if (schema.$ref === undefined) return schema
  const found = schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)]
  return found === undefined ? {} : resolve(found, schemas)
}

const isNull = (schema: JsonSchema): boolean => schema.type === "null"

const textOf = ({ format, minLength = 0 }: JsonSchema): string => {
  if (format === "date-time") return "2026-11-01T09:30:00.000Z"
  if (format === "date") return "2026-11-01"
  return "text".repeat(Math.max(1, Math.ceil(minLength / 4)))
}

/** A value that a schema allows: its own example if it has one, or else the simplest value of its type. */
export const exampleOf = (schema: JsonSchema, schemas: Schemas): unknown => {
  const { additionalProperties, allOf, anyOf, default: value, examples, items, oneOf, properties, type, ...at } = schema
  if (schema.$ref !== undefined) return exampleOf(resolve(schema, schemas), schemas)
  if (examples !== undefined) return examples[0]
  if (value !== undefined) return value
  if (at.enum !== undefined) return at.enum[0]
  const one = anyOf ?? oneOf
  // Keywords beside the alternatives (such as a format) apply to each of them.
  if (one !== undefined) return exampleOf({ ...at, ...one.find((each) => !isNull(each)) }, schemas)
  if (type === undefined && allOf !== undefined) return exampleOf(allOf[0] ?? {}, schemas)
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, exampleOf(of, schemas)]))
  }
  switch (type) {
    case "string":
      return textOf(schema)
    case "integer":
      return at.minimum ?? 1
    case "number":
      return at.minimum ?? 0.5
    case "boolean":
      return false
    case "array":
      return items === undefined ? [] : [exampleOf(items, schemas)]
    case "null":
      return null
    default:
      return {}
  }
}

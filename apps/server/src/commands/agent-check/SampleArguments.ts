import { isRecord } from "@svc/conversation/answers/FieldReader"

/** Texts of the formats of JSON Schema. */
const formats: { readonly [format: string]: string } = {
  date: "2026-11-02",
  time: "10:30",
  "date-time": "2026-11-02T10:30:00Z",
  email: "ada@example.com",
  uri: "https://example.com/",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  phone: "+15550100200"
}

/** How deep a sample goes: a schema may be of any depth. */
const maxLevels = 10

const numberOf = (schema: Readonly<Record<string, unknown>>): number => {
  const { exclusiveMinimum, maximum, minimum } = schema
  if (typeof minimum === "number") return minimum
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + 1
  return typeof maximum === "number" && maximum < 1 ? maximum : 1
}

const textOf = (schema: Readonly<Record<string, unknown>>): string => {
  const { format, maxLength, minLength } = schema
  const known = typeof format === "string" && Object.hasOwn(formats, format) ? formats[format] : undefined
  if (known !== undefined) return known
  const longest = typeof maxLength === "number" ? Math.max(0, maxLength) : 100
  const shortest = typeof minLength === "number" ? Math.min(minLength, 1000) : 0
  return "test".padEnd(shortest, "t").slice(0, longest)
}

const firstOf = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined)

const sampleOf = (schema: unknown, levels: number): unknown => {
  if (!isRecord(schema) || levels === 0) return null
  const given = schema["const"] ?? schema["default"] ?? firstOf(schema["examples"]) ?? firstOf(schema["enum"])
  if (given !== undefined) return given
  const alternative = firstOf(schema["anyOf"]) ?? firstOf(schema["oneOf"])
  if (alternative !== undefined) return sampleOf(alternative, levels - 1)
  const type = Array.isArray(schema["type"]) ? schema["type"].find((one) => one !== "null") : schema["type"]
  switch (type) {
    case "string":
      return textOf(schema)
    case "integer":
      return Math.ceil(numberOf(schema))
    case "number":
      return numberOf(schema)
    case "boolean":
      return true
    case "array":
      return "items" in schema ? [sampleOf(schema["items"], levels - 1)] : []
    case "object":
      return objectOf(schema, levels - 1)
    default:
      return isRecord(schema["properties"]) ? objectOf(schema, levels - 1) : null
  }
}

const objectOf = (schema: Readonly<Record<string, unknown>>, levels: number): { readonly [name: string]: unknown } => {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {}
  const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name))
      .map(([name, property]) => [name, sampleOf(property, levels)])
  )
}

/** Arguments that fit the `parameters` of a tool: its required properties, each with a sample value. */
export const sampleArguments = (parameters: Readonly<Record<string, unknown>>): { readonly [name: string]: unknown } =>
  objectOf(parameters, maxLevels)

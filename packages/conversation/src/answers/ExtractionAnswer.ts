import { ExtractionField, extractionFields } from "@svc/api/callbacks/Extraction"
import { Schema } from "effect"
import { decodeValue, fieldReader, isRecord, type Warning } from "./FieldReader.ts"
import { linearPattern, UnusablePattern } from "./LinearPattern.ts"

/**
 * The fields to extract from a call, in their given order. A list, because the journal does not keep the order of keys.
 */
export const ExtractionSchema = Schema.Array(ExtractionField)
export type ExtractionSchema = typeof ExtractionSchema.Type

/** The pattern if it can be used; else null and a warning. */
const patternOf = (warnings: Array<Warning>, field: string, source: string): string | null => {
  try {
    linearPattern(source)
    return source
  } catch (error) {
    if (!(error instanceof UnusablePattern)) throw error
    warnings.push({ field, reason: `the pattern cannot be used: ${error.message}` })
    return null
  }
}

const fieldOf = (warnings: Array<Warning>, name: string, given: unknown): ExtractionField | null => {
  const path = `extraction_schema.${name}`
  if (!isRecord(given)) {
    warnings.push({ field: path, reason: "must be an object with a type" })
    return null
  }
  const type = decodeValue(warnings, `${path}.type`, given["type"], ExtractionField.fields.type)
  if (type === null) return null
  const read = fieldReader(warnings, given, `${path}.`)
  const description = read("description", Schema.String)
  const format = read("format", Schema.String)
  const source = read("pattern", Schema.String)
  const pattern = source === null ? null : patternOf(warnings, `${path}.pattern`, source)
  return {
    name,
    type,
    ...(description === null ? {} : { description }),
    ...(format === null ? {} : { format }),
    ...(pattern === null ? {} : { pattern })
  }
}

/**
 * Reads an `extraction_schema` of 1 to 20 fields. Invalid fields, and invalid parts of fields, are left out with a
 * warning each; null when no field is left.
 */
export const extractionOf = (
  given: Readonly<Record<string, unknown>> | null,
  warnings: Array<Warning>
): ExtractionSchema | null => {
  if (given === null) return null
  const fields = Object.entries(given)
  if (fields.length === 0 || fields.length > extractionFields) {
    warnings.push({
      field: "extraction_schema",
      reason: `extraction_schema must have between 1 and ${extractionFields} fields`
    })
    return null
  }
  const valid = fields.flatMap(([name, definition]) => fieldOf(warnings, name, definition) ?? [])
  return valid.length === 0 ? null : valid
}

import { Text } from "@svc/api/callbacks/AnswerValues"
import { ExtractionField, extractionFields } from "@svc/api/callbacks/Extraction"
import { Schema } from "effect"
import { decodeValue, fieldReader, isRecord, type Warnings } from "./FieldReader.ts"
import { linearPattern, UnusablePattern } from "./LinearPattern.ts"

/**
 * The fields to extract from a call, in their given order. A list, because the journal does not keep the order of keys.
 */
export const ExtractionSchema = Schema.Array(ExtractionField)
export type ExtractionSchema = typeof ExtractionSchema.Type

/** The total size of a schema's patterns, in steps: they are all tested when the call is over. */
const maxPatternSteps = 1000

/** What the patterns of a schema may still use of {@link maxPatternSteps}. */
interface PatternBudget {
  steps: number
}

/** The pattern if it can be used; else null and a warning. */
const patternOf = (warnings: Warnings, field: string, source: string, budget: PatternBudget): string | null => {
  try {
    const { steps } = linearPattern(source)
    if (steps > budget.steps) return warnings.add(field, "the patterns of the schema are too large together")
    budget.steps -= steps
    return source
  } catch (error) {
    if (!(error instanceof UnusablePattern)) throw error
    warnings.add(field, `the pattern cannot be used: ${error.message}`)
    return null
  }
}

const fieldOf = (warnings: Warnings, name: string, given: unknown, budget: PatternBudget): ExtractionField | null => {
  const path = `extraction_schema.${name}`
  if (!isRecord(given)) {
    warnings.add(path, "must be an object with a type")
    return null
  }
  const type = decodeValue(warnings, `${path}.type`, given["type"], ExtractionField.fields.type)
  if (type === null) return null
  const read = fieldReader(warnings, given, `${path}.`)
  const description = read("description", Text)
  const format = read("format", Text)
  const source = read("pattern", Text)
  const pattern = source === null ? null : patternOf(warnings, `${path}.pattern`, source, budget)
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
  warnings: Warnings
): ExtractionSchema | null => {
  if (given === null) return null
  const fields = Object.entries(given)
  if (fields.length === 0 || fields.length > extractionFields) {
    warnings.add("extraction_schema", `extraction_schema must have between 1 and ${extractionFields} fields`)
    return null
  }
  const budget = { steps: maxPatternSteps }
  const valid = fields.flatMap(([name, definition]) => fieldOf(warnings, name, definition, budget) ?? [])
  return valid.length === 0 ? null : valid
}

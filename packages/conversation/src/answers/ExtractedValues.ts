import type { ExtractedData, ExtractedValue, ExtractionField } from "@svc/api/callbacks/Extraction"
import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import type { ExtractionSchema } from "./ExtractionAnswer.ts"
import { isRecord } from "./FieldReader.ts"
import { linearPattern } from "./LinearPattern.ts"

/** The longest text that is accepted as a value, in characters. */
const longestValue = 10_000

const clock = String.raw`([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?`
const time = new RegExp(`^${clock}$`)
const dateTime = new RegExp(String.raw`^(\d{4}-\d{2}-\d{2})[Tt ]${clock}$`)

/** Whether a text is an existing date, such as `2026-02-28`. */
const isDate = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** The formats that are validated. Times may lack seconds and zone, because people do not say them. */
const formats: { readonly [format: string]: (text: string) => boolean } = {
  date: isDate,
  time: (text) => time.test(text),
  "date-time": (text) => isDate(dateTime.exec(text)?.[1] ?? ""),
  email: (text) => text.length <= 254 && /^[^\s@<>"]{1,64}@[^\s@<>".]+(\.[^\s@<>".]+)+$/.test(text),
  uri: (text) => /^[a-z][a-z0-9+.-]*:\S/i.test(text) && URL.canParse(text),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  phone: Schema.is(E164)
}

const isText = (field: ExtractionField, text: string): boolean => {
  if (text.length > longestValue) return false
  const format = field.format === undefined || !Object.hasOwn(formats, field.format) ? undefined : formats[field.format]
  if (format !== undefined && !format(text)) return false
  return field.pattern === undefined || linearPattern(field.pattern).test(text)
}

const validated = (field: ExtractionField, value: unknown): ExtractedValue => {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? value : null
    case "string":
      return typeof value === "string" && isText(field, value) ? value : null
  }
}

/**
 * Validates the model's answer to an extraction. Every field of the schema is present; it is null when it is absent
 * from the answer or does not have its type, format and pattern. An answer that is not an object gives nulls only.
 */
export const extractedFrom = (schema: ExtractionSchema, answer: unknown): ExtractedData => {
  const given = isRecord(answer) ? answer : {}
  return Object.fromEntries(
    schema.map((field) => [field.name, Object.hasOwn(given, field.name) ? validated(field, given[field.name]) : null])
  )
}

/** The data of a call without an extraction: all fields null. */
export const nothingExtracted = (schema: ExtractionSchema | null | undefined): ExtractedData =>
  extractedFrom(schema ?? [], null)

import { Schema } from "effect"

/** Maximum of fields in an extraction schema. */
export const extractionFields = 20

/** One field of an `extraction_schema`, as the engine keeps it. */
export const ExtractionField = Schema.Struct({
  name: Schema.String,
  type: Schema.Literal("string", "number", "boolean"),
  /** Describes the value to the model. */
  description: Schema.optionalWith(Schema.String, { exact: true }),
  /**
   * What text must be: `date`, `time`, `date-time`, `email`, `uri`, `uuid`, `phone`. Others are a hint for the model.
   */
  format: Schema.optionalWith(Schema.String, { exact: true }),
  /** A regular expression that text must match somewhere. */
  pattern: Schema.optionalWith(Schema.String, { exact: true })
})
export type ExtractionField = typeof ExtractionField.Type

/** The value of a field; null when the call did not contain it, or it does not match the definition. */
export const ExtractedValue = Schema.NullOr(Schema.Union(Schema.String, Schema.Number, Schema.Boolean))
export type ExtractedValue = typeof ExtractedValue.Type

/** The values of a call, by field name. */
export const ExtractedData = Schema.Record({ key: Schema.String, value: ExtractedValue })
export type ExtractedData = typeof ExtractedData.Type

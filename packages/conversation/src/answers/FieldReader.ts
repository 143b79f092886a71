import { Either, ParseResult, Schema } from "effect"

/** A field that was left out because it was not valid. */
export const Warning = Schema.Struct({ field: Schema.String, reason: Schema.String })
export type Warning = typeof Warning.Type

const oneLine = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)[0]?.message.split("\n")[0] ?? "not valid"

/** The allowed values of an enumeration; the parser's own message names only the first. */
const choiceOf = ({ ast }: Schema.Schema.All): string | undefined => {
  if (ast._tag !== "Union") return undefined
  const words = ast.types.flatMap((type) => (type._tag === "Literal" ? [String(type.literal)] : []))
  return words.length === ast.types.length ? `must be one of ${words.join(", ")}` : undefined
}

/** Decodes a value. If it is invalid, adds a warning for `field` and returns null. */
export const decodeValue = <A, I>(
  warnings: Array<Warning>,
  field: string,
  value: unknown,
  schema: Schema.Schema<A, I>
): A | null => {
  const decoded = Schema.decodeUnknownEither(schema)(value)
  if (Either.isRight(decoded)) return decoded.right
  warnings.push({ field, reason: choiceOf(schema) ?? oneLine(decoded.left) })
  return null
}

/** Whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads the fields of an object one by one; null counts as absent. `path` is the prefix of their names in warnings. */
export const fieldReader =
  (warnings: Array<Warning>, given: Readonly<Record<string, unknown>>, path = "") =>
  <A, I>(field: string, schema: Schema.Schema<A, I>): A | null => {
    const value = given[field]
    return value === undefined || value === null ? null : decodeValue(warnings, `${path}${field}`, value, schema)
  }

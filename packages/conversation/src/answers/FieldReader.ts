import { Either, ParseResult, Schema } from "effect"
import { shortened } from "../Shortened.ts"

/** A field that was left out because it was not valid. */
export const Warning = Schema.Struct({ field: Schema.String, reason: Schema.String })
export type Warning = typeof Warning.Type

/** Warnings that are kept of one answer, and the longest name and reason, in characters: an answer may be hostile. */
const maxWarnings = 20
const maxName = 100
const maxReason = 300

/** A text of limited length in one line. */
const clipped = (text: string, length: number): string => shortened(text, length).replace(/\p{Cc}/gu, " ")

/** The warnings about one answer. Only the first {@link maxWarnings} are kept; the others are counted. */
export class Warnings {
  readonly #kept: Array<Warning> = []
  #dropped = 0

  /** Adds a warning that `field` is left out. The reason is made only if the warning is kept. */
  add(field: string, reason: string | (() => string)): null {
    if (this.#kept.length >= maxWarnings) this.#dropped++
    else {
      const text = typeof reason === "string" ? reason : reason()
      this.#kept.push({ field: clipped(field, maxName), reason: clipped(text, maxReason) })
    }
    return null
  }

  /** Fields of the input that carries them. */
  get fields(): { readonly warnings: ReadonlyArray<Warning>; readonly warnings_dropped?: number } {
    return { warnings: [...this.#kept], ...(this.#dropped === 0 ? {} : { warnings_dropped: this.#dropped }) }
  }
}

/** The schemas of {@link Warnings.fields}. */
export const warningFields = {
  /** Fields that were left out because they were not valid, each with the reason. */
  warnings: Schema.Array(Warning),
  /** How many further warnings there were; absent: none. */
  warnings_dropped: Schema.optionalWith(Schema.Number, { exact: true })
} as const

/** The longest text that is shown as it is, and the most names of fields, in a reason. */
const maxShown = 40
const maxShownFields = 6

/** The names of an object's fields, for a reason: what is there in place of a field that is missing. */
export const fieldNames = (value: Readonly<Record<string, unknown>>): string => {
  const names = Object.keys(value)
  if (names.length === 0) return "there are no fields"
  const shown = names.slice(0, maxShownFields).map((name) => clipped(name, maxShown))
  const rest = names.length > shown.length ? ` and ${names.length - shown.length} more` : ""
  return `there is ${shown.join(", ")}${rest}`
}

/** A value in a few words. Of a long text only its length: it may be confidential. */
export const inWords = (value: unknown): string => {
  if (typeof value === "string") {
    return value.length <= maxShown ? `the text ${JSON.stringify(value)}` : `a text of ${value.length} characters`
  }
  if (Array.isArray(value)) return value.length === 1 ? "a list of 1 entry" : `a list of ${value.length} entries`
  if (isRecord(value)) return "an object"
  return typeof value === "number" ? `the number ${value}` : String(value)
}

/** What is in the place of a value that was expected. */
const found = (value: unknown, path: ReadonlyArray<PropertyKey>): string => {
  let parent: unknown = value
  let part: unknown = value
  for (const key of path) {
    parent = part
    part = isRecord(part) || Array.isArray(part) ? Reflect.get(part, key) : undefined
  }
  if (part !== undefined) return ` (it is ${inWords(part)})`
  return isRecord(parent) ? ` (${fieldNames(parent)})` : ""
}

/**
 * The first problem of a value, with what is there. A message that begins with a verb gets the place within the value as
 * its subject.
 */
const oneLine = (error: ParseResult.ParseError, value: unknown): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  if (issue === undefined) return "not valid"
  const message = issue.message.split("\n")[0] ?? "not valid"
  const place = issue.path.map(String).join(".")
  const said = place !== "" && /^(must|is) /.test(message) ? `${place} ${message}` : message
  // A message about the size says enough.
  return /\.$| exceed /.test(said) ? said : `${said}${found(value, issue.path)}`
}

/** The allowed values of an enumeration; the parser's own message names only the first. */
const choiceOf = ({ ast }: Schema.Schema.All): string | undefined => {
  if (ast._tag !== "Union") return undefined
  const words = ast.types.flatMap((type) => (type._tag === "Literal" ? [String(type.literal)] : []))
  return words.length === ast.types.length ? `must be one of ${words.join(", ")}` : undefined
}

/** Decodes a value. If it is invalid, adds a warning for `field`, which ends with `consequence`, and returns null. */
export const decodeValue = <A, I>(
  warnings: Warnings,
  field: string,
  value: unknown,
  schema: Schema.Schema<A, I>,
  consequence = ""
): A | null => {
  const decoded = Schema.decodeUnknownEither(schema)(value)
  if (Either.isRight(decoded)) return decoded.right
  return warnings.add(field, () => {
    const choice = choiceOf(schema)
    return (choice === undefined ? oneLine(decoded.left, value) : `${choice}${found(value, [])}`) + consequence
  })
}

/** Whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const unusableKey = "__proto__"

/** The levels that are looked through: more than any field of an answer may have. */
const maxLevels = 100

const hasUnusableKey = (value: unknown, levels: number): boolean => {
  if (levels === 0 || typeof value !== "object" || value === null) return false
  return (
    Object.hasOwn(value, unusableKey) ||
    Object.values(value).some((inner: unknown) => hasUnusableKey(inner, levels - 1))
  )
}

/**
 * A JSON value without the keys `__proto__`, each with a warning: an assignment to that key changes an object's prototype
 * in place of adding a field, so it would be lost later. Values below {@link maxLevels} are left as they are.
 */
export const withoutUnusableKeys = (warnings: Warnings, value: unknown): unknown =>
  hasUnusableKey(value, maxLevels) ? rebuilt(warnings, value, "", maxLevels) : value

const rebuilt = (warnings: Warnings, value: unknown, path: string, levels: number): unknown => {
  if (levels === 0) return value
  const prefix = path === "" ? "" : `${path}.`
  if (Array.isArray(value)) {
    return value.map((inner: unknown, index) => rebuilt(warnings, inner, `${prefix}${index}`, levels - 1))
  }
  if (!isRecord(value)) return value
  if (Object.hasOwn(value, unusableKey)) {
    warnings.add(`${prefix}${unusableKey}`, `${unusableKey} cannot be used as a name`)
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      key === unusableKey ? [] : [[key, rebuilt(warnings, inner, `${prefix}${key}`, levels - 1)]]
    )
  )
}

/** Reads the fields of an object one by one; null counts as absent. `path` is the prefix of their names in warnings. */
export const fieldReader =
  (warnings: Warnings, given: Readonly<Record<string, unknown>>, path = "") =>
  <A, I>(field: string, schema: Schema.Schema<A, I>): A | null => {
    const value = given[field]
    return value === undefined || value === null ? null : decodeValue(warnings, `${path}${field}`, value, schema)
  }

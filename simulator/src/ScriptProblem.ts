import { suggestion } from "@svc/api/Suggestion"
import { Data, ParseResult } from "effect"
import { type Document, isMap, isScalar, type LineCounter } from "yaml"

/** What is wrong with a script, and where. `line` and `column` count from 1; undefined: with the whole file. */
export interface Problem {
  readonly line?: number
  readonly column?: number
  /** With the step and the field: `step 3, expect: …`. */
  readonly message: string
}

/** The most problems that are shown. */
const maxShown = 20

/** The script is invalid. */
export class InvalidScript extends Data.TaggedError("InvalidScript")<{
  readonly problems: ReadonlyArray<Problem>
  /** The path of the file; undefined for a text. */
  readonly file?: string | undefined
}> {
  /** One line for each problem: `call.yaml:12:5: step 3, expect: …`. */
  override get message(): string {
    const lines = this.problems
      .slice(0, maxShown)
      .map(({ column, line, message }) =>
        [this.file ?? "script", ...(line === undefined ? [] : [line, column])].join(":").concat(`: ${message}`)
      )
    const more = this.problems.length - lines.length
    return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n")
  }
}

/** A script that is invalid as a whole. */
export const invalid = (message: string, file?: string): InvalidScript =>
  new InvalidScript({ file, problems: [{ message }] })

export type Path = ReadonlyArray<PropertyKey>

/** The positions of the parts of a script. */
export interface Places {
  readonly document: Document.Parsed
  readonly lines: LineCounter
}

/** The offset of the key or entry at a path; of the nearest part that is there when it is missing. */
const offsetOf = (document: Document.Parsed, path: Path): number => {
  for (let length = path.length; length > 0; length--) {
    const last = path[length - 1]
    const parent = document.getIn(path.slice(0, length - 1), true)
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && key.value === last)
      if (pair !== undefined && isScalar(pair.key)) return pair.key.range?.[0] ?? 0
    }
    const node = document.getIn(path.slice(0, length), true)
    if (typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range)) {
      return Number(node.range[0])
    }
  }
  return document.contents?.range[0] ?? 0
}

/** `step 3, expect_call.status`, `timeout`; the steps are counted from 1. */
const placeOf = (path: Path): string => {
  const [first, index, ...rest] = path
  const join = (keys: Path) =>
    keys.reduce<string>(
      (out, key) => (typeof key === "number" ? `${out}[${key}]` : out === "" ? String(key) : `${out}.${String(key)}`),
      ""
    )
  if (first !== "steps" || typeof index !== "number") return join(path)
  return [`step ${index + 1}`, ...(rest.length === 0 ? [] : [join(rest)])].join(", ")
}

/** A problem at a path. */
export const problemAt = ({ document, lines }: Places, path: Path, message: string): Problem => {
  const { col, line } = lines.linePos(offsetOf(document, path))
  const place = placeOf(path)
  return { line: Math.max(1, line), column: Math.max(1, col), message: place === "" ? message : `${place}: ${message}` }
}

const unexpected = (key: string, message: string): string => {
  const names = [...message.matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? "")
  const near = suggestion(key, names)
  const valid = names.length === 0 ? "no fields are valid here" : `valid are ${names.join(", ")}`
  return `unknown field; ${near === undefined ? valid : `did you mean ${near}? (${valid})`}`
}

/** Types as a script's author knows them: a list, an object with these fields. */
const plainType = (types: ReadonlyArray<string>): string =>
  types
    .flatMap((type) => alternatives(type))
    .filter((type) => type !== "undefined")
    .map((type) => {
      if (type.startsWith("ReadonlyArray<")) return "a list"
      if (type === "string" || type === "NonEmptyString") return "a text"
      if (type === "number") return "a number"
      if (!type.startsWith("{")) return type
      const fields = [...type.matchAll(/[{;] readonly (\w+)\??:/g)].map(([, name]) => name)
      return fields.length === 0 ? "an object" : `an object with ${fields.join(", ")}`
    })
    .filter((type, n, all) => all.indexOf(type) === n)
    .join(" or ")

/** The members of a union in the notation of schemas, without those within braces. */
const alternatives = (type: string): ReadonlyArray<string> => {
  const found: Array<string> = [""]
  let depth = 0
  for (const part of type.split(/( \| | or |[{}<>[\]])/)) {
    if ("{<[".includes(part) && part !== "") depth++
    if ("}>]".includes(part) && part !== "") depth--
    if (depth === 0 && (part === " | " || part === " or ")) found.push("")
    else found[found.length - 1] += part
  }
  return found.map((one) => one.trim())
}

/** What to do with a value that is no text because it has no quotes, as the author wrote it. */
const quotesAdvice = (document: Document.Parsed, path: Path): string => {
  const node = document.getIn(path, true)
  if (!isScalar(node) || node.source === undefined) return ""
  return typeof node.value === "number" || typeof node.value === "boolean" ? `: put it in quotes, "${node.source}"` : ""
}

const isWithin = (inner: Path, outer: Path): boolean =>
  inner.length > outer.length && outer.every((key, n) => key === inner[n])

/** One problem per place: the alternatives of a union are joined in one line. */
export const problemsOf = (places: Places, prefix: Path, error: ParseResult.ParseError): ReadonlyArray<Problem> => {
  const byPlace = new Map<string, { readonly path: Path; readonly messages: Array<string> }>()
  for (const { message, path } of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const whole = [...prefix, ...path]
    const entry = byPlace.get(placeOf(whole)) ?? { path: whole, messages: [] }
    entry.messages.push(message)
    byPlace.set(placeOf(whole), entry)
  }
  const found = [...byPlace.values()]
  return (
    found
      // An object that is one of a union's alternatives is wrong because of its parts.
      .filter(({ path }) => !found.some((other) => isWithin(other.path, path)))
      .map(({ messages, path }) => {
        const [message = ""] = messages
        if (message.startsWith("is unexpected")) {
          return problemAt(places, path, unexpected(String(path.at(-1)), message))
        }
        const choices = messages.map((one) => /^Expected (.+), actual (.+)$/s.exec(one))
        if (!choices.every((choice) => choice !== null)) return problemAt(places, path, messages.join("; "))
        const type = plainType(choices.map((choice) => choice[1] ?? ""))
        const advice = type.split(" or ").includes("a text") ? quotesAdvice(places.document, path) : ""
        return problemAt(places, path, `expected ${type}, found ${choices[0]?.[2]}${advice}`)
      })
  )
}

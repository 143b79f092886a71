import { Either, ParseResult, Schema } from "effect"
import { Realism } from "../Realism/Realism.ts"

const pattern = (flags: string) =>
  Schema.String.pipe(
    Schema.maxLength(2000),
    Schema.filter((source) => {
      try {
        new RegExp(source, flags)
        return true
      } catch (error) {
        return `not a regular expression: ${error instanceof Error ? error.message : String(error)}`
      }
    })
  )

const Arguments = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const ScriptCall = Schema.Struct({ tool: Schema.NonEmptyString, arguments: Schema.optional(Arguments) })
export type ScriptCall = typeof ScriptCall.Type

/** What a rule does: say a text, call tools, or say a text and then call tools. */
const action = {
  say: Schema.optional(Schema.String),
  tool: Schema.optional(Schema.NonEmptyString),
  arguments: Schema.optional(Arguments),
  tools: Schema.optional(Schema.Array(ScriptCall))
}

/** Applies to the caller's last words. `once`: only to the first match in a call. */
const UserRule = Schema.Struct({ user: pattern("i"), once: Schema.optional(Schema.Boolean), ...action })
export type UserRule = typeof UserRule.Type

/** Applies to the result of the named tool. */
const ResultRule = Schema.Struct({ tool_result: Schema.NonEmptyString, ...action })
export type ResultRule = typeof ResultRule.Type

/** The script of a scripted model: JSON in the first fenced block tagged `script` in the system prompt. */
export const Script = Schema.Struct({
  rules: Schema.optionalWith(Schema.Array(Schema.Union(UserRule, ResultRule)), { default: () => [] }),
  /** The answer when no rule applies. */
  otherwise: Schema.optional(Schema.String),
  /** Milliseconds before the first word. */
  first_token_ms: Schema.optional(Schema.Number.pipe(Schema.between(0, 600_000))),
  /** Words per second; absent or 0: all at once. */
  tokens_per_second: Schema.optional(Schema.Number.pipe(Schema.between(0, 100_000))),
  /** Makes every request fail: with an error, by never answering, or with an empty answer. */
  fail: Schema.optional(Schema.Literal("error", "hang", "empty")),
  /** For each field name, the pattern whose first group is its value. */
  extract: Schema.optional(Schema.Record({ key: Schema.String, value: pattern("im") })),
  /** Delays and faults of all simulated providers in this call. */
  providers: Schema.optional(Realism)
})
export type Script = typeof Script.Type

const opening = /^[ \t]*(`{3,}|~{3,})[ \t]*script[ \t]*\r?$/m

const decode = Schema.decodeUnknownEither(Script, { errors: "all" })

/**
 * Finds and parses the script in a system prompt. Undefined when there is none; Left states why it is invalid, for its
 * author.
 */
export const readScript = (prompt: string): Either.Either<Script | undefined, string> => {
  const start = opening.exec(prompt)
  if (start === null) return Either.right(undefined)
  const body = prompt.slice(start.index + start[0].length)
  const end = body.search(new RegExp(`^[ \\t]*${start[1] ?? ""}[ \\t]*\\r?$`, "m"))
  if (end < 0) return Either.left("the script block in the system prompt has no closing fence")
  return Either.flatMap(parse(body.slice(0, end)), (json) => Either.mapLeft(decode(json), explain))
}

const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) =>
      `the script in the system prompt is not valid JSON: ${error instanceof Error ? error.message : String(error)}`
  })

const explain = (error: ParseResult.ParseError): string => {
  const issues = ParseResult.ArrayFormatter.formatErrorSync(error)
    // That a wrong part of `providers` could have been left out helps nobody.
    .filter(({ message, path }) => path[0] !== "providers" || !message.startsWith("Expected undefined,"))
    .slice(0, 3)
  const lines = issues.map(({ message, path }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
  return `the script in the system prompt is not right: ${lines.join("; ")}`
}

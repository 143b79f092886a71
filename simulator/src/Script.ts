import { suggestion } from "@svc/api/Suggestion"
import { Effect, Either, Schema } from "effect"
import { LineCounter, parseDocument } from "yaml"
import { InvalidScript, invalid, type Places, type Problem, problemAt, problemsOf } from "./ScriptProblem.ts"
import { kinds, optional, type Step, Within } from "./ScriptSteps.ts"

type Kind = keyof typeof kinds

/**
 * A scripted call. With `receive`, the agent of the number `to` calls that number. `timeout` (seconds, 20 by default)
 * applies to each step without `within`.
 */
export interface Script {
  readonly name: string | undefined
  readonly to: string | undefined
  readonly from: string | undefined
  readonly receive: string | undefined
  readonly timeout: number
  readonly steps: ReadonlyArray<Step>
}

const Head = Schema.Struct({
  name: optional(Schema.String),
  to: optional(Schema.String),
  from: optional(Schema.String),
  receive: optional(Schema.String),
  timeout: Schema.optionalWith(Within, { default: () => 20 }),
  steps: Schema.Array(Schema.Unknown).pipe(Schema.minItems(1, { message: () => "a script has at least one step" }))
}).annotations({ parseOptions: { onExcessProperty: "error", errors: "all" } })

const isKind = (key: string): key is Kind => Object.hasOwn(kinds, key)
const names = Object.keys(kinds)

/** Selects the kind of a step by its key, so that errors mention only that kind and not all of the union. */
const readStep = (places: Places, value: unknown, index: number): Either.Either<Step, ReadonlyArray<Problem>> => {
  const path = ["steps", index]
  const wrong = (message: string, at: ReadonlyArray<PropertyKey> = path) =>
    Either.left([problemAt(places, at, message)])
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return wrong(`a step is an object with one of ${names.join(", ")}`)
  }
  const keys = Object.keys(value)
  const found = keys.filter(isKind)
  const [kind, ...others] = found
  if (kind === undefined) {
    const [key] = keys
    if (key === undefined) return wrong(`the step is empty; known are ${names.join(", ")}`)
    const near = suggestion(key, names)
    const message = `unknown step; ${near === undefined ? "" : `did you mean ${near}? `}known are ${names.join(", ")}`
    return wrong(message, [...path, key])
  }
  if (others.length > 0) return wrong(`${found.join(" and ")} are steps of their own: begin each with "- "`)
  return kinds[kind](value).pipe(Either.mapLeft((error) => problemsOf(places, path, error)))
}

/** Parses a script in YAML. `file` is named in errors. */
export const parse = (text: string, file?: string): Effect.Effect<Script, InvalidScript> =>
  Effect.gen(function* () {
    const lines = new LineCounter()
    const document = parseDocument(text, { lineCounter: lines })
    const places: Places = { document, lines }
    const refuse = (problems: ReadonlyArray<Problem>) => new InvalidScript({ file, problems })
    const [syntax] = document.errors
    // The others are its consequences.
    if (syntax !== undefined) {
      const [{ col = 1, line = 1 } = {}] = syntax.linePos ?? []
      const message = (syntax.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "")
      return yield* refuse([{ line, column: col, message: `not YAML: ${message}` }])
    }
    const content = yield* Effect.try({
      try: (): unknown => {
        const value: unknown = document.toJS()
        // Fails for a part that contains itself.
        JSON.stringify(value)
        return value
      },
      // Aliases of aliases can be larger than the memory.
      catch: (error) => invalid(`not readable: ${error instanceof Error ? error.message : "an error in YAML"}`, file)
    })
    if (typeof content !== "object" || content === null || Array.isArray(content)) {
      return yield* refuse([{ line: 1, column: 1, message: 'a script begins with "steps:", a list of steps' }])
    }
    const head = yield* Schema.decodeUnknown(Head)(content).pipe(
      Effect.mapError((error) => refuse(problemsOf(places, [], error)))
    )
    const steps: Array<Step> = []
    const problems: Array<Problem> = []
    for (const [index, value] of head.steps.entries()) {
      const step = readStep(places, value, index)
      if (Either.isRight(step)) steps.push(step.right)
      else problems.push(...step.left)
    }
    if (problems.length > 0) return yield* refuse(problems)
    return { name: head.name, to: head.to, from: head.from, receive: head.receive, timeout: head.timeout, steps }
  })

import { CallStatus, Disposition, EndedReason } from "@svc/api/calls/Call"
import { Behaviour } from "@svc/providers/SimulatedNetwork"
import { Data, Effect, Either, ParseResult, Schema } from "effect"
import { parseDocument } from "yaml"

/** The script is invalid. Each problem names its place, e.g. `steps[2].expect: …`. */
export class InvalidScript extends Data.TaggedError("InvalidScript")<{ readonly problems: ReadonlyArray<string> }> {
  override get message(): string {
    return this.problems.join("\n")
  }
}

/** The source of a regular expression, which ignores case. */
const Pattern = Schema.transformOrFail(Schema.NonEmptyString, Schema.instanceOf(RegExp), {
  strict: true,
  decode: (source, _, ast) =>
    Either.try({
      try: () => new RegExp(source, "iu"),
      catch: (error) =>
        new ParseResult.Type(ast, source, error instanceof Error ? error.message : "not a regular expression")
    }),
  encode: (pattern) => ParseResult.succeed(pattern.source)
})

/** An optional field. Exact, because errors would otherwise mention `undefined` as an allowed value. */
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** How long a step may wait, in seconds. */
const Within = Schema.Number.pipe(Schema.between(0.05, 3600))
const within = optional(Within)
const Text = Schema.String.pipe(Schema.trimmed(), Schema.minLength(1))
const Digits = Schema.String.pipe(
  Schema.pattern(/^[0-9*#]+$/, { message: () => 'digits are 0-9, * and #, in quotes: dtmf: "123"' })
)

/** Waits until the agent has said this since the last match. */
const Expect = Schema.Struct({ expect: Pattern, within })
/** Speaks when the agent is silent. */
const Say = Schema.Struct({ say: Text, within })
/** Speaks while the agent speaks; with `after`, when it has said that. */
const Interrupt = Schema.Struct({ interrupt: Text, after: optional(Pattern), within })
const Dtmf = Schema.Struct({ dtmf: Digits })
const Wait = Schema.Struct({ wait_ms: Schema.Number.pipe(Schema.between(0, 600_000)) })
const Hangup = Schema.Struct({ hangup: Schema.NullOr(Schema.Literal(true)) })
/** Waits until the other side ends or refuses the call. */
const ExpectHangup = Schema.Struct({
  expect_hangup: Schema.NullOr(Schema.Union(Schema.Literal(true), Schema.Struct({ cause: optional(Schema.String) }))),
  within
})
/** Registers another number on the network, for transfers, until the script ends. */
const Register = Schema.Struct({
  register: Schema.Struct({ number: Text, behaviour: Behaviour, ring_ms: optional(Schema.Number) })
})
/** Waits until the agent transfers the call. */
const ExpectTransfer = Schema.Struct({
  expect_transfer: Schema.NullOr(
    Schema.Union(Schema.Literal(true), Schema.Struct({ destination: optional(Schema.String) }))
  ),
  within
})
/**
 * Compares the record of the ended call. The turns of `transcript` must occur in this order; others may come between.
 */
const ExpectCall = Schema.Struct({
  expect_call: Schema.Struct({
    status: optional(CallStatus),
    disposition: optional(Schema.NullOr(Disposition)),
    transferred_to: optional(Schema.NullOr(Schema.String)),
    ended_reason: optional(Schema.NullOr(EndedReason)),
    transcript: optional(Schema.Array(Schema.Struct({ role: Schema.Literal("assistant", "user"), content: Pattern }))),
    tools_called: optional(Schema.Array(Schema.String))
  }),
  within
})

/** One step, identified by its key. */
export type Step =
  | typeof Expect.Type
  | typeof Say.Type
  | typeof Interrupt.Type
  | typeof Dtmf.Type
  | typeof Wait.Type
  | typeof Hangup.Type
  | typeof Register.Type
  | typeof ExpectTransfer.Type
  | typeof ExpectHangup.Type
  | typeof ExpectCall.Type

const strictDecoder = <A extends Step, I>(
  schema: Schema.Schema<A, I>
): ((u: unknown) => Either.Either<Step, ParseResult.ParseError>) =>
  Schema.decodeUnknownEither(schema, { onExcessProperty: "error", errors: "all" })

const kinds = {
  expect: strictDecoder(Expect),
  say: strictDecoder(Say),
  interrupt: strictDecoder(Interrupt),
  dtmf: strictDecoder(Dtmf),
  wait_ms: strictDecoder(Wait),
  hangup: strictDecoder(Hangup),
  register: strictDecoder(Register),
  expect_transfer: strictDecoder(ExpectTransfer),
  expect_hangup: strictDecoder(ExpectHangup),
  expect_call: strictDecoder(ExpectCall)
} as const
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

const place = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (out, key) => (typeof key === "number" ? `${out}[${key}]` : out === "" ? String(key) : `${out}.${String(key)}`),
    ""
  )

/** One problem per place: the alternatives of a union are joined in one line. */
const problemsOf = (prefix: ReadonlyArray<PropertyKey>, error: ParseResult.ParseError): ReadonlyArray<string> => {
  const byPlace = new Map<string, Array<string>>()
  for (const { message, path } of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const at = place([...prefix, ...path])
    byPlace.set(at, [...(byPlace.get(at) ?? []), message])
  }
  return [...byPlace].map(([at, messages]) => {
    const choices = messages.map((message) => /^Expected (.+), actual (.+)$/s.exec(message))
    const all = choices.every((choice) => choice !== null)
      ? `Expected ${choices.map((choice) => choice[1]).join(" or ")}, actual ${choices[0]?.[2]}`
      : messages.join("; ")
    return at === "" ? all : `${at}: ${all}`
  })
}

const isKind = (key: string): key is Kind => Object.hasOwn(kinds, key)
const names = Object.keys(kinds).join(", ")

/** Selects the kind of a step by its key, so that errors mention only that kind and not all of the union. */
const readStep = (value: unknown, index: number): Either.Either<Step, ReadonlyArray<string>> => {
  const at = place(["steps", index])
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return Either.left([`${at}: a step is an object with one of ${names}`])
  }
  const keys = Object.keys(value)
  const found = keys.filter(isKind)
  const kind = found[0]
  if (kind === undefined)
    return Either.left([`${at}: unknown step ${keys.join(", ") || "(empty)"}; known are ${names}`])
  if (found.length > 1) return Either.left([`${at}: ${found.join(" and ")} are steps of their own`])
  return kinds[kind](value).pipe(Either.mapLeft((error) => problemsOf(["steps", index], error)))
}

/** Parses a script in YAML. */
export const parse = (text: string): Effect.Effect<Script, InvalidScript> =>
  Effect.gen(function* () {
    const document = parseDocument(text)
    if (document.errors.length > 0) {
      return yield* new InvalidScript({
        problems: document.errors.map((e) => `YAML: ${e.message.split("\n")[0] ?? ""}`)
      })
    }
    const content: unknown = document.toJS()
    if (typeof content !== "object" || content === null || Array.isArray(content)) {
      return yield* new InvalidScript({ problems: ["a script is an object with steps"] })
    }
    const head = yield* Schema.decodeUnknown(Head)(content).pipe(
      Effect.mapError((error) => new InvalidScript({ problems: problemsOf([], error) }))
    )
    const steps: Array<Step> = []
    const problems: Array<string> = []
    for (const [index, value] of head.steps.entries()) {
      const step = readStep(value, index)
      if (Either.isRight(step)) steps.push(step.right)
      else problems.push(...step.left)
    }
    if (problems.length > 0) return yield* new InvalidScript({ problems })
    return { name: head.name, to: head.to, from: head.from, receive: head.receive, timeout: head.timeout, steps }
  })

/** A step in one line, for reports. */
export const describe = (step: Step): string => {
  if ("expect" in step) return `expect /${step.expect.source}/`
  if ("say" in step) return `say "${step.say}"`
  if ("interrupt" in step) return `interrupt "${step.interrupt}"`
  if ("dtmf" in step) return `dtmf ${step.dtmf}`
  if ("wait_ms" in step) return `wait ${step.wait_ms} ms`
  if ("hangup" in step) return "hang up"
  if ("register" in step) return `register ${step.register.number} as ${step.register.behaviour}`
  if ("expect_transfer" in step) return "expect a transfer"
  if ("expect_hangup" in step) return "expect a hang-up"
  return "expect the call record"
}

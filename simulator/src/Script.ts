import { CallStatus, Disposition, EndedReason } from "@svc/api/calls/Call"
import { Behaviour } from "@svc/providers/SimulatedNetwork"
import { Data, Effect, Either, ParseResult, Schema } from "effect"
import { parseDocument } from "yaml"

/** The file is not a script: each problem with the place where it stands, e.g. `steps[2].expect: …`. */
export class BadScript extends Data.TaggedError("BadScript")<{ readonly problems: ReadonlyArray<string> }> {
  override get message(): string {
    return this.problems.join("\n")
  }
}

/** A regular expression as its source; case is ignored. */
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

/** A field that may be left out. Exact: else each error of it would also say that it might have been `undefined`. */
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** Seconds that a step may wait. */
const Within = Schema.Number.pipe(Schema.between(0.05, 3600))
const within = optional(Within)
const Text = Schema.String.pipe(Schema.trimmed(), Schema.minLength(1))
const Digits = Schema.String.pipe(
  Schema.pattern(/^[0-9*#]+$/, { message: () => 'digits are 0-9, * and #, in quotes: dtmf: "123"' })
)

/** What the agent must say, in what it has said since the last match. */
const Expect = Schema.Struct({ expect: Pattern, within })
/** Said once the agent is silent. */
const Say = Schema.Struct({ say: Text, within })
/** Said while the agent speaks; with `after`, once it has said that. */
const Interrupt = Schema.Struct({ interrupt: Text, after: optional(Pattern), within })
const Dtmf = Schema.Struct({ dtmf: Digits })
const Wait = Schema.Struct({ wait_ms: Schema.Number.pipe(Schema.between(0, 600_000)) })
const Hangup = Schema.Struct({ hangup: Schema.NullOr(Schema.Literal(true)) })
/** The other side ends or refuses the call. */
const ExpectHangup = Schema.Struct({
  expect_hangup: Schema.NullOr(Schema.Union(Schema.Literal(true), Schema.Struct({ cause: optional(Schema.String) }))),
  within
})
/** Another number of the network, for transfers: what they meet there. It stays until the script is over. */
const Register = Schema.Struct({
  register: Schema.Struct({ number: Text, behaviour: Behaviour, ring_ms: optional(Schema.Number) })
})
/** The agent hands us over to another number. */
const ExpectTransfer = Schema.Struct({
  expect_transfer: Schema.NullOr(
    Schema.Union(Schema.Literal(true), Schema.Struct({ destination: optional(Schema.String) }))
  ),
  within
})
/** What the record of the ended call says. `transcript` turns must occur in this order, others may stand between. */
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

/** One step; its key tells which. */
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

const strictly = <A extends Step, I>(
  schema: Schema.Schema<A, I>
): ((u: unknown) => Either.Either<Step, ParseResult.ParseError>) =>
  Schema.decodeUnknownEither(schema, { onExcessProperty: "error", errors: "all" })

const kinds = {
  expect: strictly(Expect),
  say: strictly(Say),
  interrupt: strictly(Interrupt),
  dtmf: strictly(Dtmf),
  wait_ms: strictly(Wait),
  hangup: strictly(Hangup),
  register: strictly(Register),
  expect_transfer: strictly(ExpectTransfer),
  expect_hangup: strictly(ExpectHangup),
  expect_call: strictly(ExpectCall)
} as const
type Kind = keyof typeof kinds

/** A scripted call; with `receive`, one that the agent of the number `to` makes to that number. `timeout` (seconds, default 20) holds for every step without a `within` of its own. */
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

/** One problem a place: where a choice of values was not met, all of them in one line. */
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

/** A step is told by its one key of {@link kinds}, so that errors speak of that step and not of all that it might have been. */
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

/** Reads a script from the text of its YAML file. */
export const parse = (text: string): Effect.Effect<Script, BadScript> =>
  Effect.gen(function* () {
    const document = parseDocument(text)
    if (document.errors.length > 0) {
      return yield* new BadScript({ problems: document.errors.map((e) => `YAML: ${e.message.split("\n")[0] ?? ""}`) })
    }
    const content: unknown = document.toJS()
    if (typeof content !== "object" || content === null || Array.isArray(content)) {
      return yield* new BadScript({ problems: ["a script is an object with steps"] })
    }
    const head = yield* Schema.decodeUnknown(Head)(content).pipe(
      Effect.mapError((error) => new BadScript({ problems: problemsOf([], error) }))
    )
    const steps: Array<Step> = []
    const problems: Array<string> = []
    for (const [index, value] of head.steps.entries()) {
      const step = readStep(value, index)
      if (Either.isRight(step)) steps.push(step.right)
      else problems.push(...step.left)
    }
    if (problems.length > 0) return yield* new BadScript({ problems })
    return { name: head.name, to: head.to, from: head.from, receive: head.receive, timeout: head.timeout, steps }
  })

/** A step in one line, as reports name it. */
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

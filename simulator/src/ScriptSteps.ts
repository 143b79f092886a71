import { CallStatus, Disposition, EndedReason } from "@svc/api/calls/Call"
import { Behaviour } from "@svc/providers/SimulatedNetwork"
import { Either, ParseResult, Schema } from "effect"
import { patternFault } from "./PartialMatch.ts"

/** The steps of a script. Their reference is in docs/simulator.md. */

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
export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** How long a step may wait, in seconds. */
export const Within = Schema.Number.pipe(Schema.between(0.05, 3600))
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

/** A value that a part of a call must have; see `PartialMatch.ts`. */
const Expected = Schema.Unknown.pipe(Schema.filter((value) => patternFault(value) ?? true))
const Fields = Schema.Record({ key: Schema.String, value: Expected })
const Name = Schema.NonEmptyString

/** Waits until the agent's server was called with a tool. Each call of a tool is matched once. */
const ExpectTool = Schema.Struct({
  expect_tool: Schema.Union(
    Name,
    Schema.Struct({
      name: Name,
      arguments: optional(Fields),
      result: optional(Expected),
      status: optional(Schema.Literal("completed", "failed", "timeout"))
    })
  ),
  within
})
/** Waits until an event of the call was recorded and, if asked for, delivered to a webhook. */
const ExpectEvent = Schema.Struct({
  expect_event: Schema.Union(
    Name,
    Schema.Struct({
      event: Name,
      data: optional(Fields),
      delivered: optional(Schema.Literal(true)),
      status_code: optional(Schema.Int),
      url: optional(Pattern)
    })
  ),
  within
})

const Limit = Schema.Number.pipe(Schema.positive())
/** Checks that no measured turn so far was slower, in milliseconds. */
const ExpectLatency = Schema.Struct({
  expect_latency: Schema.Struct({
    turn: optional(Schema.Literal("all", "last")),
    response_ms: optional(Limit),
    endpointing_ms: optional(Limit),
    llm_ttfb_ms: optional(Limit),
    tts_start_ms: optional(Limit),
    tts_ttfb_ms: optional(Limit),
    platform_ms: optional(Limit)
  }).pipe(
    Schema.filter((limits) => latencyFields.some((field) => limits[field] !== undefined), {
      message: () => `names at least one of ${latencyFields.join(", ")}`
    })
  ),
  within
})

/** The measurements of a turn that can be limited. */
export const latencyFields = [
  "response_ms",
  "endpointing_ms",
  "llm_ttfb_ms",
  "tts_start_ms",
  "tts_ttfb_ms",
  "platform_ms"
] as const

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
  | typeof ExpectTool.Type
  | typeof ExpectEvent.Type
  | typeof ExpectLatency.Type

const strictDecoder = <A extends Step, I>(
  schema: Schema.Schema<A, I>
): ((u: unknown) => Either.Either<Step, ParseResult.ParseError>) =>
  Schema.decodeUnknownEither(schema, { onExcessProperty: "error", errors: "all" })

/** The steps by their key. */
export const kinds = {
  expect: strictDecoder(Expect),
  say: strictDecoder(Say),
  interrupt: strictDecoder(Interrupt),
  dtmf: strictDecoder(Dtmf),
  wait_ms: strictDecoder(Wait),
  hangup: strictDecoder(Hangup),
  register: strictDecoder(Register),
  expect_transfer: strictDecoder(ExpectTransfer),
  expect_hangup: strictDecoder(ExpectHangup),
  expect_call: strictDecoder(ExpectCall),
  expect_tool: strictDecoder(ExpectTool),
  expect_event: strictDecoder(ExpectEvent),
  expect_latency: strictDecoder(ExpectLatency)
} as const
const nameOf = <K extends string>(given: string | { readonly [P in K]: string }, key: K): string =>
  typeof given === "string" ? given : given[key]

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
  if ("expect_tool" in step) return `expect tool ${nameOf(step.expect_tool, "name")}`
  if ("expect_event" in step) return `expect event ${nameOf(step.expect_event, "event")}`
  if ("expect_latency" in step) return "expect the latency"
  return "expect the call record"
}

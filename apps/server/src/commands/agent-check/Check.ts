import { callStartedMs } from "@svc/call-engine/agent-server/AgentServerClient"
import { storyOf } from "@svc/call-engine/agent-server/ServerRequest"
import type { CallConfig } from "@svc/conversation/answers/CallConfig"
import type { Warning } from "@svc/conversation/answers/FieldReader"
import { hintOf, type RequestKind } from "@svc/conversation/answers/ServerFault"
import { unknownFields } from "@svc/conversation/answers/UnknownFields"
import { shortened } from "@svc/conversation/Shortened"
import type { Asked } from "./SampleCall.ts"

/** What one request of the sample call showed. `failure` and `faults` are what is wrong; `warnings` are advice. */
export interface Check {
  readonly check: "call.started" | "menu" | "signature" | "timestamp" | "tool.call" | "transcript.updated"
  /** Of a `tool.call`. */
  readonly tool: string | null
  readonly ok: boolean
  /** False: there was no request, and `detail` says why. */
  readonly checked: boolean
  readonly detail: string
  readonly status: number | null
  readonly duration_ms: number | null
  readonly limit_ms: number | null
  /** No usable answer: as in the `failure` of a call. */
  readonly failure: { readonly stage: RequestKind; readonly reason: string; readonly hint: string } | null
  /** Fields of the answer that a call leaves out. */
  readonly faults: ReadonlyArray<Warning>
  readonly warnings: ReadonlyArray<{ readonly field: string | null; readonly reason: string }>
}

/** An answer that takes more than this part of its time limit gets a warning. */
const slowPart = 0.5

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`

const checkOf = (check: Check["check"]): Omit<Check, "detail"> => ({
  check,
  tool: null,
  ok: true,
  checked: true,
  status: null,
  duration_ms: null,
  limit_ms: null,
  failure: null,
  faults: [],
  warnings: []
})

/** A check that was not made. */
export const skipped = (check: Check["check"], why: string): Check => ({
  ...checkOf(check),
  checked: false,
  detail: `not checked: ${why}`
})

const measured = ({ request }: Asked, limit_ms: number) => ({
  status: request?.status ?? null,
  duration_ms: request?.duration_ms ?? null,
  limit_ms
})

const slow = ({ request }: Asked, limit_ms: number, meanwhile: string): Check["warnings"] => {
  const ms = request?.duration_ms ?? 0
  if (ms <= limit_ms * slowPart) return []
  return [{ field: null, reason: `the answer took ${seconds(ms)} of ${seconds(limit_ms)}: ${meanwhile}` }]
}

const answered = ({ request }: Asked, limit_ms: number): string =>
  `answered ${request?.status ?? "nothing"} in ${request?.duration_ms ?? 0} ms (limit ${seconds(limit_ms)})`

const failedBy = (stage: RequestKind, { input }: Asked, limit_ms: number): Check["failure"] => {
  if (input !== undefined && "reason" in input && "fault" in input) {
    return { stage, reason: input.fault?.what ?? input.reason, hint: hintOf(stage, input.fault?.cause) }
  }
  const reason = `no answer to ${stage} within ${seconds(limit_ms)}`
  return { stage, reason, hint: hintOf(stage, "timeout") }
}

const failedCheck = (check: Check["check"], stage: RequestKind, asked: Asked, limit_ms: number): Check => ({
  ...checkOf(check),
  ...measured(asked, limit_ms),
  ok: false,
  detail: `no usable answer to ${stage}`,
  failure: failedBy(stage, asked, limit_ms)
})

const named = (what: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 0 ? [] : [`${what} ${names.join(", ")}`]

const contents = ({ first_message, tools, transfer_destinations = {} }: CallConfig): string =>
  [
    first_message === null ? "no first_message: the agent waits for the caller" : "first_message",
    ...named(
      "tools",
      tools.map(({ name }) => name)
    ),
    ...named("transfers to", Object.keys(transfer_destinations))
  ].join("; ")

const ringing = "the call rings meanwhile"

/** The answer to `call.started`, or with `menu` to the one after the menu. */
export const startedCheck = (check: "call.started" | "menu", asked: Asked): Check => {
  const { body, input } = asked
  if (input?._tag !== "ConfigAnswered" && input?._tag !== "MenuAnswered") {
    return failedCheck(check, "call.started", asked, callStartedMs)
  }
  const { warnings: faults, warnings_dropped = 0 } = input._tag === "MenuAnswered" ? input : input.config
  const more = warnings_dropped === 0 ? [] : [{ field: "", reason: `and ${warnings_dropped} more` }]
  const what = input._tag === "MenuAnswered" ? "a menu (pre_gather)" : contents(input.config)
  return {
    ...checkOf(check),
    ...measured(asked, callStartedMs),
    ok: faults.length === 0,
    detail: `${answered(asked, callStartedMs)}: ${what}`,
    faults: [...faults, ...more],
    warnings: [...unknownFields(body), ...slow(asked, callStartedMs, ringing)]
  }
}

/** The longest arguments that are shown, in characters. */
const maxArguments = 200

const silent = "the caller waits meanwhile; speak_during_tool_call says something"

/** The answer to `tool.call`. */
export const toolCheck = (
  tool: { readonly name: string; readonly timeout_seconds: number },
  args: { readonly [name: string]: unknown },
  asked: Asked
): Check => {
  const limit = tool.timeout_seconds * 1000
  const sent = `${tool.name} ${shortened(JSON.stringify(args), maxArguments)}`
  if (asked.input?._tag !== "ToolAnswered") {
    const failed = failedCheck("tool.call", "tool.call", asked, limit)
    return { ...failed, tool: tool.name, detail: `${sent}: ${failed.detail}` }
  }
  return {
    ...checkOf("tool.call"),
    ...measured(asked, limit),
    tool: tool.name,
    detail: `${sent}: ${answered(asked, limit)}`,
    warnings: slow(asked, limit, silent)
  }
}

/** A tool that the answer to `call.started` does not have. */
export const noTool = (name: string, tools: ReadonlyArray<string>): Check => ({
  ...checkOf("tool.call"),
  tool: name,
  ok: false,
  checked: false,
  detail: `not called: ${name} is not offered`,
  faults: [
    {
      field: "tools",
      reason: `the answer to call.started has no valid tool ${name} that your server runs; it has ${tools.join(", ") || "none"}`
    }
  ]
})

/** The answer to `transcript.updated`. */
export const transcriptCheck = (asked: Asked, limit: number): Check =>
  asked.input === undefined
    ? {
        ...checkOf("transcript.updated"),
        ...measured(asked, limit),
        detail: answered(asked, limit)
      }
    : failedCheck("transcript.updated", "transcript.updated", asked, limit)

const bad = {
  signature: { what: "a wrong signature", fix: "verify X-Svc-Signature-V1 with the agent's server_secret" },
  timestamp: {
    what: "a timestamp of an hour ago",
    fix: "verify X-Svc-Signature-V1, and refuse a t that is more than 300 seconds old, so that a recorded request cannot be sent again"
  }
} as const

/** Whether a request that must be refused was refused. One that was not is a warning. */
export const refusedCheck = (check: keyof typeof bad, url: string, asked: Asked): Check => {
  const { fix, what } = bad[check]
  const { request } = asked
  const status = request?.status ?? null
  const refused = status !== null && status >= 400 && status < 500
  const story = request === undefined ? "no answer" : storyOf(url, request)
  const reason =
    status !== null && status < 300
      ? `a request with ${what} is accepted (${status}): ${fix}. See docs/calls.md, "Write the server".`
      : `a request with ${what} must be refused with status 401: ${story}`
  return {
    ...checkOf(check),
    ...measured(asked, callStartedMs),
    detail: refused ? `a request with ${what} is refused (${status})` : `a request with ${what} is not refused`,
    warnings: refused ? [] : [{ field: null, reason }]
  }
}

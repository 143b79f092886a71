import { type CallFailure, maxCallWarnings } from "@svc/api/calls/CallFailure"
import type { Warning } from "../answers/FieldReader.ts"
import { hintOf, type RequestKind, type ServerFault } from "../answers/ServerFault.ts"
import { type Draft, patch, seconds } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { shortened } from "../Shortened.ts"
import type { Conversation } from "../State.ts"

/**
 * What was wrong in a call: why it failed, and warnings about the rest. Both are shown to the customer, so reasons are
 * short and have no secrets. See docs/reference/calls.md.
 */

/** Longest reason, in characters. */
const maxReason = 600

const secrets: ReadonlyArray<readonly [RegExp, string]> = [
  // Credentials and the query of a URL.
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"']{1,300}@/gi, "$1"],
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s?#"']{1,600})[?#][^\s"')]*/gi, "$1"],
  [/\b(bearer|basic)\s+[\w.~+/=*-]{6,}/gi, "$1 …"],
  // Keys of vendors and of ours, also half hidden: `sk-proj-12…`, `svc_live_…`; names of settings, `SVC_…`, are none.
  [/\b(?:sk|pk|rk|xi|key|token)[-_][\w*-]{8,}/gi, "…"],
  [/\b(?!SVC_[A-Z0-9_]+\b)[sS][vV][cC][-_][\w*-]{8,}/g, "…"]
]

/** A reason in one line of limited length, without what may be secret. */
const cleaned = (reason: string): string => {
  const line = reason.slice(0, 2 * maxReason).replace(/[\p{Cc}\p{Surrogate}]+/gu, " ")
  const safe = secrets.reduce((text, [pattern, by]) => text.replace(pattern, by), line).trim()
  return shortened(safe, maxReason)
}

const checkPlugin = (capability: string): string =>
  `Check the ${capability} plugin: its key, its quota and its network. \`svc plugins check\` and GET /readyz say whether it works. A second plugin in SVC_PLUGINS would take over.`

/** What to do about a failure that has nothing to do with the agent's server. */
const hints = {
  telephony:
    "Check the telephony plugin and its network; of a call that was placed, also the number. `svc plugins check` and GET /readyz say whether the plugin works. What errors of calls over SIP mean: docs/sip.md.",
  "speech-to-text": checkPlugin("speech-to-text"),
  "text-to-speech": checkPlugin("text-to-speech"),
  "language-model": checkPlugin("language-model"),
  server: "Look in the log of Svc for the lines with this call's id. The call can be made again."
} as const

/** Records why the call fails. The first reason counts; it is shown only if the call ends as failed. */
const fail = (d: Draft, failure: CallFailure): void => {
  if (d.state.failure === null) patch(d, { failure: { ...failure, reason: cleaned(failure.reason) } })
}

/** The call fails in a part of the platform. */
export const failed = (d: Draft, stage: keyof typeof hints, reason: string): void =>
  fail(d, { stage, reason, hint: hints[stage] })

/** The call fails because its agent's server gave no usable answer to `call.started`. */
export const notConfigured = (d: Draft, { fault, reason }: InputOf<"ConfigFailed">): void =>
  fail(d, { stage: "call.started", reason: fault?.what ?? reason, hint: hintOf("call.started", fault?.cause) })

/** Keeps a warning, or counts it when there are enough. */
export const warn = (d: Draft, what: string, reason: string): void => keep(d, what, cleaned(reason))

/** `warn`, unless there is the same warning already. */
export const warnOnce = (d: Draft, what: string, reason: string): void => {
  if (!d.state.warnings.some((one) => one.what === what && one.reason === cleaned(reason))) warn(d, what, reason)
}

export const providerWarned = (d: Draft, { reason, stage }: InputOf<"ProviderWarned">): void => {
  const { provider_warnings } = d.state
  warnOnce(d, stage, reason)
  if (!provider_warnings.includes(reason)) patch(d, { provider_warnings: [...provider_warnings.slice(-9), reason] })
}

/** A provider failed, and the call goes on. What was warned of is not said again. */
export const providerFailed = (d: Draft, stage: keyof typeof hints, reason: string): void => {
  if (!d.state.provider_warnings.includes(reason)) warn(d, stage, reason)
}

/** `warn` for a reason that is clean, or ends with a hint: hints name headers and variables that look like keys. */
const keep = (d: Draft, what: string, reason: string): void => {
  const { warnings, warnings_dropped } = d.state
  if (warnings.length >= maxCallWarnings) patch(d, { warnings_dropped: warnings_dropped + 1 })
  else patch(d, { warnings: [...warnings, { at: seconds(d.at), what, reason }] })
}

/** Fields of an answer to `call.started` that were left out. `dropped`: how many more there were. */
export const leftOut = (d: Draft, warnings: ReadonlyArray<Warning>, dropped = 0): void => {
  for (const { field, reason } of warnings) warn(d, `call.started: ${field}`, `left out: ${reason}`)
  if (dropped > 0) patch(d, { warnings_dropped: d.state.warnings_dropped + dropped })
}

/** What came, cleaned, and what to do. */
const requestReason = (kind: RequestKind, fault: ServerFault | undefined, reason: string): string =>
  fault === undefined ? cleaned(reason) : `${cleaned(fault.what)}. ${hintOf(kind, fault.cause)}`

export const toolFailed = (d: Draft, name: string, { fault, reason }: InputOf<"ToolFailed">): void =>
  keep(d, `tool.call: ${name}`, requestReason("tool.call", fault, reason))

export const toolTimedOut = (d: Draft, name: string, seconds: number): void =>
  warn(d, `tool.call: ${name}`, `no answer to tool.call within ${seconds} s. ${hintOf("tool.call", "timeout")}`)

/** All of a call are one warning, which says how many turns did not arrive. */
export const transcriptFailed = (d: Draft, { count, fault, reason }: InputOf<"TranscriptFailed">): void => {
  const what = "transcript.updated"
  const lost = d.state.lost_transcripts + count
  patch(d, { lost_transcripts: lost })
  const turns = lost === 1 ? "1 turn" : `${lost} turns`
  const text = `${turns} did not arrive: ${requestReason(what, fault, reason)}`
  if (!d.state.warnings.some((warning) => warning.what === what)) keep(d, what, text)
  else patch(d, { warnings: d.state.warnings.map((one) => (one.what === what ? { ...one, reason: text } : one)) })
}

/** Why the call failed; null when it did not, or is not over. */
export const failureOf = ({ failure, outcome }: Conversation): CallFailure | null =>
  outcome === null || outcome.status !== "failed" ? null : (failure ?? ofServer("an error in Svc ended the call"))

/** A failure of the platform itself. */
export const ofServer = (reason: string): CallFailure => ({ stage: "server", reason, hint: hints.server })

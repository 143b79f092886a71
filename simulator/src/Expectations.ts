import type { Call } from "@svc/api/calls/Call"
import type { CallTimeline, TimelineTool } from "@svc/api/calls/CallTimeline"
import { Either, Option } from "effect"
import type { CallView } from "./CallView.ts"
import { differences, shown } from "./PartialMatch.ts"
import { latencyFields, type Step } from "./ScriptSteps.ts"

/**
 * Expectations on the facts of a call, all from its timeline: none while it may still be met, else whether it is met, or
 * why not. Pure.
 */
export type Verdict<A = void> = Option.Option<Either.Either<A, string>>

const pending = Option.none()
const met = <A>(value: A): Verdict<A> => Option.some(Either.right(value))
const missed = (why: string): Verdict<never> => Option.some(Either.left(why))

/** Whether nothing more can come: the call is over and its record settled. */
const isOver = ({ phase, record }: CallView): boolean =>
  phase === "ended" && record !== null && record.ended_at !== null

/** Why nothing is known of a call. */
export const unknown = ({ unread }: CallView): string =>
  unread === null ? "there is no call record" : `there is no call record (${unread})`

type ExpectedTool = Exclude<Extract<Step, { readonly expect_tool: unknown }>["expect_tool"], string>

const toolDifferences = (tool: TimelineTool, expected: ExpectedTool): ReadonlyArray<string> => [
  ...(expected.status === undefined || expected.status === tool.status
    ? []
    : [`status is ${tool.status} instead of ${expected.status}`]),
  ...(expected.arguments === undefined
    ? []
    : differences("arguments", tool.arguments ?? undefined, expected.arguments)),
  ...(expected.result === undefined ? [] : differences("result", tool.result ?? undefined, expected.result))
]

const namesOf = (names: ReadonlyArray<string>): string => (names.length === 0 ? "none" : names.join(", "))

/** Why no call of a tool fits: what was called instead, or how the calls of it differ. */
const toolMissed = (tools: ReadonlyArray<TimelineTool>, used: ReadonlySet<string>, expected: ExpectedTool): string => {
  const same = tools.filter(({ id, name }) => name === expected.name && !used.has(id))
  if (same.length === 0) {
    const again = tools.some(({ name }) => name === expected.name) ? " again" : ""
    return `${expected.name} was not called${again}; called were ${namesOf(tools.map(({ name }) => name))}`
  }
  return same
    .map(
      (tool) => `${tool.name} was called with ${shown(tool.arguments)}: ${toolDifferences(tool, expected).join(", ")}`
    )
    .join("; ")
}

/** The call of a tool that is expected, and that was not matched before: `used` are the ids of those. Its id. */
export const toolVerdict = (call: CallView, expected: ExpectedTool, used: ReadonlySet<string>): Verdict<string> => {
  const tools = call.timeline?.tools ?? []
  const isFinished = expected.result !== undefined || expected.status !== undefined
  const found = tools.find(
    (tool) =>
      tool.name === expected.name &&
      !used.has(tool.id) &&
      !(isFinished && tool.status === "running") &&
      toolDifferences(tool, expected).length === 0
  )
  if (found !== undefined) return met(found.id)
  return isOver(call) ? missed(toolMissed(tools, used, expected)) : pending
}

/** Why a tool was not found in time. */
export const toolLate = (call: CallView, expected: ExpectedTool, used: ReadonlySet<string>): string =>
  call.timeline === null ? unknown(call) : toolMissed(call.timeline.tools, used, expected)

type ExpectedEvent = Exclude<Extract<Step, { readonly expect_event: unknown }>["expect_event"], string>

/** Events that the settlement of a call writes: the timeline has only their deliveries. */
const afterCall: ReadonlySet<string> = new Set(["call.ended", "call.failed", "call.recording_ready", "sms.sent"])

/** Events with a delivery that are not in the list of events: the settlement of the call writes them. */
const dataUnknown = (event: string): string =>
  `the timeline does not have the fields of ${event}: compare the record with expect_call instead`

/** What is missing of an expected event; none when all is there. */
const eventProblem = ({ events, webhooks }: CallTimeline, expected: ExpectedEvent): string | undefined => {
  const recorded = events.filter(({ actor, what }) => actor === "event" && what === expected.event)
  const attempts = webhooks.filter(({ event }) => event === expected.event)
  if (recorded.length === 0 && attempts.length === 0) {
    const names = [...new Set(events.filter(({ actor }) => actor === "event").map(({ what }) => what))]
    const isLate = afterCall.has(expected.event)
      ? "; events after a call are seen by their deliveries: give the agent a webhook for it"
      : ""
    return `there was no event ${expected.event}; there were ${namesOf(names)}${isLate}`
  }
  if (expected.data !== undefined) {
    if (recorded.length === 0) return dataUnknown(expected.event)
    const wrong = recorded.map(({ data }) => differences("data", data ?? undefined, expected.data))
    if (!wrong.some((differing) => differing.length === 0)) {
      return wrong.map((differing) => `${expected.event} differs: ${differing.join(", ")}`).join("; ")
    }
  }
  const wantsDelivery =
    expected.delivered !== undefined || expected.status_code !== undefined || expected.url !== undefined
  if (!wantsDelivery) return undefined
  const fits = attempts.some(
    ({ status_code, success, url }) =>
      (expected.delivered === undefined || success) &&
      (expected.status_code === undefined || status_code === expected.status_code) &&
      (expected.url === undefined || expected.url.test(url))
  )
  if (fits) return undefined
  const seen = attempts.map(
    ({ attempt, error, status_code, url }) => `attempt ${attempt} to ${url}: ${error ?? `status ${status_code}`}`
  )
  return `${expected.event} was recorded, but no delivery fits: ${seen.join("; ") || "there was none (is there a webhook for it?)"}`
}

/** Deliveries go on after the call, so only the time limit ends the wait for one. */
export const eventVerdict = ({ timeline }: CallView, expected: ExpectedEvent): Verdict => {
  const problem = timeline === null ? "" : eventProblem(timeline, expected)
  if (problem === undefined) return met(undefined)
  return problem === dataUnknown(expected.event) ? missed(problem) : pending
}

/** Why an event was not found in time. */
export const eventLate = (call: CallView, expected: ExpectedEvent): string =>
  call.timeline === null ? unknown(call) : (eventProblem(call.timeline, expected) ?? "")

type ExpectedLatency = Extract<Step, { readonly expect_latency: unknown }>["expect_latency"]

/**
 * `stale`: the timeline when the step began, which may lack the last turns. A stage that a turn did not have, as the model
 * in a farewell, counts for nothing.
 */
export const latencyVerdict = (call: CallView, expected: ExpectedLatency, stale: CallTimeline | null): Verdict => {
  const { phase, timeline } = call
  if (timeline === null || (phase === "ended" ? !isOver(call) : timeline === stale)) return pending
  const measured = timeline.turns.flatMap(({ index, stages, text }) =>
    stages === null ? [] : [{ index, stages, text }]
  )
  const turns = expected.turn === "last" ? measured.slice(-1) : measured
  if (turns.length === 0) return isOver(call) ? missed("no turn was measured") : pending
  const wrong = latencyFields.flatMap((field) => {
    const limit = expected[field]
    if (limit === undefined) return []
    const known = turns.flatMap(({ index, stages, text }) => {
      const ms = stages[field]
      return ms === null || ms === undefined ? [] : [{ ms, turn: `turn ${index} (${shown(text)})` }]
    })
    if (known.length === 0) return [`${field} was not measured`]
    return known.flatMap(({ ms, turn }) =>
      ms < limit ? [] : [`${field} of ${turn} is ${ms} ms, not below ${limit} ms`]
    )
  })
  return wrong.length === 0 ? met(undefined) : missed(wrong.join("; "))
}

type ExpectedCall = Extract<Step, { readonly expect_call: unknown }>["expect_call"]

/** All differences between the record and the expectations. */
export const compare = (expected: ExpectedCall, call: Call): Either.Either<void, string> => {
  const wrong: Array<string> = []
  const differs = (name: string, is: unknown, should: unknown) =>
    wrong.push(`${name} is ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`)
  if (expected.status !== undefined && expected.status !== call.status) differs("status", call.status, expected.status)
  if (expected.disposition !== undefined && expected.disposition !== call.disposition) {
    differs("disposition", call.disposition, expected.disposition)
  }
  if (expected.transferred_to !== undefined && expected.transferred_to !== call.transferred_to) {
    differs("transferred_to", call.transferred_to, expected.transferred_to)
  }
  if (expected.ended_reason !== undefined && expected.ended_reason !== call.ended_reason) {
    differs("ended_reason", call.ended_reason, expected.ended_reason)
  }
  if (expected.tools_called !== undefined && expected.tools_called.join() !== call.tools_called.join()) {
    differs("tools_called", call.tools_called, expected.tools_called)
  }
  let at = 0
  for (const [n, turn] of (expected.transcript ?? []).entries()) {
    const found = call.transcript.findIndex((t, i) => i >= at && t.role === turn.role && turn.content.test(t.content))
    if (found < 0) {
      const rest = call.transcript.slice(at).map((t) => `${t.role}: ${t.content}`)
      wrong.push(
        `transcript[${n}] ${turn.role} /${turn.content.source}/ is missing in: ${rest.join(" | ") || "nothing"}`
      )
      break
    }
    at = found + 1
  }
  return wrong.length === 0 ? Either.void : Either.left(wrong.join("; "))
}

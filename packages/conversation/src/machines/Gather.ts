import type { GatherRules } from "../answers/GatherRules.ts"
import { press } from "../answers/GatherRules.ts"
import { type Draft, emit, ids, patch, startTimer, stopTimer } from "../Draft.ts"
import { isSpeaking } from "../Entries.ts"
import { isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { type Conversation, type Gather, isTransferring } from "../State.ts"
import * as Speech from "./Speech.ts"

/**
 * Gathers form a queue. The states of the first one:
 *
 * | from | on | to |
 * |---|---|---|
 * | waiting | the agent has finished speaking, and no digits were typed ahead | prompting |
 * | waiting | the agent has finished speaking, and digits were typed ahead | collecting: the prompt is skipped |
 * | waiting | digit | waiting, with the digit |
 * | prompting | the prompt was spoken, or failed | collecting |
 * | prompting | digit | collecting; the prompt is cut |
 * | collecting | digit | collecting; the timeout restarts |
 * | any | the last digit, or the terminator after a digit | done: valid |
 * | collecting | timeout | done: timeout, or again from waiting |
 * | any | a wrong digit | menu: done: invalid, or again from waiting; others ignore it |
 *
 * Only the menu of `pre_gather` is repeated, `retries` times. The caller's words do not interrupt a prompt, and the
 * model is not asked while a gather is active.
 */

const timer = "gather"

/** How a gather ended. `input`: all digits, or null for none. */
export interface Gathered {
  readonly requester: Gather["requester"]
  readonly status: "valid" | "timeout" | "invalid"
  readonly input: string | null
}

/** Whether a gather is active or queued. */
export const isActive = (state: Conversation): boolean => state.gathers.length > 0

/** Adds a gather to the queue. */
export const enqueue = (d: Draft, requester: Gather["requester"], rules: GatherRules, retries = 0): void =>
  patch(d, { gathers: [...d.state.gathers, { requester, rules, retries, stage: "waiting", digits: "" }] })

/** The API requests a gather. No effect outside of a live conversation, or while another gather is active. */
export const onRequested = (d: Draft, { rules }: InputOf<"GatherRequested">): void => {
  if (d.state.phase === "live" && !isTransferring(d.state) && !isActive(d.state)) enqueue(d, { kind: "request" }, rules)
}

const setFirst = (d: Draft, change: Partial<Gather>): void =>
  patch(d, { gathers: d.state.gathers.map((g, i) => (i === 0 ? { ...g, ...change } : g)) })

/** Starts the first gather when the floor allows it, and its timeout when its prompt is over; called in every step. */
export const openNext = (d: Draft): void => {
  const [first] = d.state.gathers
  if (first === undefined) return
  if (first.stage === "waiting") {
    if (!isAllowed(d.state, "start gather or transfer")) return
    if (first.digits === "") prompt(d, first)
    else collect(d)
  }
  if (d.state.gathers[0]?.stage === "prompting" && !isSpeaking(d.state)) collect(d)
}

const prompt = (d: Draft, { requester, rules }: Gather): void => {
  setFirst(d, { stage: "prompting" })
  // A tool's or the menu's prompt would come between the model's tool call and its result.
  Speech.announce(d, rules.prompt, {
    voice: rules.voice,
    language: rules.language,
    hidden_from_model: requester.kind !== "request"
  })
}

const collect = (d: Draft): void => {
  const [first] = d.state.gathers
  if (first === undefined) return
  setFirst(d, { stage: "collecting" })
  startTimer(d, timer, first.rules.timeout_seconds * 1000)
}

/** Applies a digit. Returns the gather if it has ended by that, else null. */
export const onDigit = (d: Draft, digit: string): Gathered | null => {
  const [first] = d.state.gathers
  if (first === undefined) return null
  const { digits, verdict } = press(first.rules, first.digits, digit)
  if (verdict === "wrong" && first.requester.kind !== "menu") return null
  if (first.stage === "prompting" && isSpeaking(d.state)) Speech.stop(d)
  setFirst(d, { digits })
  if (verdict === "valid") return end(d, "valid")
  if (verdict === "wrong") return endOrRetry(d, "invalid")
  if (first.stage !== "waiting") collect(d)
  return null
}

/** The timeout of the gather. Returns the gather if it has ended by that, else null. */
export const onTimer = (d: Draft): Gathered | null =>
  d.state.gathers[0]?.stage === "collecting" ? endOrRetry(d, "timeout") : null

const endOrRetry = (d: Draft, status: "timeout" | "invalid"): Gathered | null => {
  const retries = d.state.gathers[0]?.retries ?? 0
  if (retries === 0) return end(d, status)
  stopTimer(d, timer)
  setFirst(d, { retries: retries - 1, stage: "waiting", digits: "" })
  return null
}

const end = (d: Draft, status: Gathered["status"]): Gathered | null => {
  const [first, ...rest] = d.state.gathers
  if (first === undefined) return null
  stopTimer(d, timer)
  patch(d, { gathers: rest })
  const input = first.digits === "" ? null : first.digits
  emit(d, {
    event: "call.gather.completed",
    data: { ...ids(d), status: status === "valid" ? "completed" : "timeout", input }
  })
  return { requester: first.requester, status, input }
}

/** The call is about to end: all gathers end by timeout. */
export const cancelAll = (d: Draft): void => {
  for (const _ of d.state.gathers) end(d, "timeout")
}

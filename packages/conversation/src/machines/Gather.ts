import type { GatherRules } from "../answers/GatherRules.ts"
import { press } from "../answers/GatherRules.ts"
import { type Draft, emit, ids, patch, startTimer, stopTimer } from "../Draft.ts"
import { may } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { type Conversation, type Gather, isSpeaking, isTransferring } from "../State.ts"
import * as Speech from "./Speech.ts"

/**
 * Keypad input. Gathers wait in a line; the first of it goes
 *
 * | from | on | to |
 * |---|---|---|
 * | waiting | the agent has finished speaking, and nothing was typed ahead | prompting |
 * | waiting | the agent has finished speaking, and digits were typed ahead | collecting: the prompt is left out |
 * | waiting | digit | waiting, with the digit |
 * | prompting | the prompt was spoken, or cannot be | collecting |
 * | prompting | digit | collecting; the prompt is cut |
 * | collecting | digit | collecting; the time starts anew |
 * | any | the last digit, or the terminator after a digit | over: valid |
 * | collecting | no digit in time | over: timeout, or again from waiting |
 * | any | another key | menu: over: invalid, or again from waiting; others take no notice |
 *
 * Only the menu of a `pre_gather` is asked again, `retries` times. The caller's words cut no prompt, and the model is
 * not asked while a gather is under way.
 */

const timer = "gather"

/** How a gather ended. `input`: all digits, or null for none. */
export interface Gathered {
  readonly of: Gather["of"]
  readonly status: "valid" | "timeout" | "invalid"
  readonly input: string | null
}

/** Whether a gather is under way or waits for its turn. */
export const isActive = (state: Conversation): boolean => state.gathers.length > 0

/** Puts a gather at the end of the line. */
export const enqueue = (d: Draft, of: Gather["of"], rules: GatherRules, retries = 0): void =>
  patch(d, { gathers: [...d.state.gathers, { of, rules, retries, stage: "waiting", digits: "" }] })

/** The API asks for digits. Without effect unless the agent talks with the caller and nothing else is gathered. */
export const onRequested = (d: Draft, { rules }: InputOf<"GatherRequested">): void => {
  if (d.state.phase === "live" && !isTransferring(d.state) && !isActive(d.state)) enqueue(d, { kind: "request" }, rules)
}

const setFirst = (d: Draft, change: Partial<Gather>): void =>
  patch(d, { gathers: d.state.gathers.map((g, i) => (i === 0 ? { ...g, ...change } : g)) })

/** Opens the first gather when the floor is free, and begins to wait when its prompt is over; called in every step. */
export const openNext = (d: Draft): void => {
  const [first] = d.state.gathers
  if (first === undefined) return
  if (first.stage === "waiting") {
    if (!may(d.state, "proceed")) return
    if (first.digits === "") prompt(d, first)
    else collect(d)
  }
  if (d.state.gathers[0]?.stage === "prompting" && !isSpeaking(d.state)) collect(d)
}

const prompt = (d: Draft, { of, rules }: Gather): void => {
  setFirst(d, { stage: "prompting" })
  // A tool's prompt and the menu's would come between what the model said and what it is answered.
  Speech.announce(d, rules.prompt, { voice: rules.voice, language: rules.language, aside: of.kind !== "request" })
}

const collect = (d: Draft): void => {
  const [first] = d.state.gathers
  if (first === undefined) return
  setFirst(d, { stage: "collecting" })
  startTimer(d, timer, first.rules.timeout_seconds * 1000)
}

/** A key was pressed. Returns how the gather ended by it, or null. */
export const onDigit = (d: Draft, key: string): Gathered | null => {
  const [first] = d.state.gathers
  if (first === undefined) return null
  const { digits, verdict } = press(first.rules, first.digits, key)
  if (verdict === "wrong" && first.of.kind !== "menu") return null
  if (first.stage === "prompting" && isSpeaking(d.state)) Speech.stop(d)
  setFirst(d, { digits })
  if (verdict === "valid") return end(d, "valid")
  if (verdict === "wrong") return endOrRetry(d, "invalid")
  if (first.stage !== "waiting") collect(d)
  return null
}

/** No digit came in time. Returns how the gather ended by that, or null. */
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
  return { of: first.of, status, input }
}

/** The call is about to end: what was asked for did not come in time. */
export const cancelAll = (d: Draft): void => {
  for (const _ of d.state.gathers) end(d, "timeout")
}

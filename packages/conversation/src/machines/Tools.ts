import { defaultToolSeconds } from "@svc/api/callbacks/CallStarted"
import { Either } from "effect"
import { dispositionOf, endCall, pressKeys, sendSms, smsOf } from "../answers/PlatformTools.ts"
import { command, type Draft, emit, ensureAgent, ids, patch, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import type { AgentEntry, ToolUse } from "../Entries.ts"
import type { InputOf } from "../Input.ts"
import { searchKnowledge, searchResult } from "../Passages.ts"
import { type Conversation, isTransferring } from "../State.ts"
import { toolTimer } from "../Timer.ts"
import * as Filler from "./Filler.ts"
import * as Gather from "./Gather.ts"
import * as Language from "./Language.ts"
import * as Model from "./Model.ts"
import * as PressKeys from "./PressKeys.ts"
import * as Problems from "./Problems.ts"

/**
 * The tools of a turn run in parallel, each with its own time limit:
 *
 * | a tool is | on | then |
 * |---|---|---|
 * | called | it is defined for this call | tool.call is sent to the agent's server, timer started |
 * | called | it has `gather` | digits are gathered first, then sent as `gathered_input` and `gather_status` in its arguments |
 * | called | it is `transfer_call` with a known destination | pending until the transfer is over; see Transfer |
 * | called | it was not offered to the model in this turn | answered with an error at once, without events |
 * | called | it is `svc_send_sms` | the platform sends the message; an invalid one is answered with an error at once |
 * | called | it is `press_keys` | the keys are pressed; pending until the last tone is over |
 * | called | it is `switch_language` | speech-to-text, voice and phrases have the language from now on; answered at once |
 * | called | it is `search_knowledge` | the knowledge bases are searched; a call without a query is answered with an error at once |
 * | pending | ToolAnswered, ToolFailed, KnowledgeFound, KnowledgeFailed | tool.completed with its result |
 * | pending | its timer | tool.timeout; the model continues without a result |
 *
 * A tool starts when its call is complete, while the model may still speak or call others. The model continues with all
 * results, in the order of the calls, when its generation has ended and none is pending. A generation that fails or is
 * interrupted after a call does not take it back: the tool goes on, and its result is kept.
 */

/** The tool by which the model reports that a voicemail took an outbound call; see Voicemail. */
export const voicemailTool = "svc_voicemail_reached"

type Called = InputOf<"ModelToolCalls">["calls"][number]

const useOf = (entry: AgentEntry, id: string): ToolUse | undefined => entry.tools.find((t) => t.id === id)

const pendingEntry = (d: Draft, id: string): AgentEntry | undefined =>
  d.state.entries.findLast((e): e is AgentEntry => e.kind === "agent" && useOf(e, id)?.pending === true)

const addUse = (d: Draft, turn: number, use: ToolUse): void =>
  updateAgent(d, turn, (e) => ({ ...e, tools: [...e.tools, use] }))

/** The id of a tool call, made unique if the model repeats an id. */
const uniqueId = (d: Draft, id: string, turn: number): string => {
  let unique = id
  while (d.state.entries.some((e) => e.kind === "agent" && useOf(e, unique) !== undefined)) {
    unique = `${unique}_${turn}_${d.commands.length}`
  }
  return unique
}

/** Starts the tools of a turn. Returns the disposition of `end_call` if it was called, else null. */
export const invoke = (d: Draft, input: InputOf<"ModelToolCalls">): string | null => {
  const ending = Model.isOffered(d, endCall) ? input.calls.find((c) => c.name === endCall) : undefined
  if (ending !== undefined) {
    const disposition = dispositionOf(ending.arguments)
    addUse(d, input.turn, { ...ending, timeout_seconds: 0, pending: false, result: { disposition } })
    invoked(d, ending)
    emit(d, { event: "tool.completed", data: { ...names(d, ending), result: { disposition } } })
    return disposition
  }
  for (const call of input.calls) {
    start(d, input.turn, { ...call, id: uniqueId(d, call.id, input.turn) })
  }
  return null
}

/** The model requests a transfer, which begins when the agent has finished speaking. */
const transfer = (d: Draft, turn: number, call: Pick<ToolUse, "id" | "name" | "arguments">): void => {
  const destinations = d.state.config?.transfer_destinations ?? {}
  const { destination: label, reason } = call.arguments
  const destination = typeof label === "string" && Object.hasOwn(destinations, label) ? destinations[label] : undefined
  const busy = isTransferring(d.state)
  addUse(d, turn, { ...call, timeout_seconds: 0, pending: true, result: null })
  invoked(d, call)
  if (destination === undefined || busy) {
    const error = busy
      ? "A transfer is under way already."
      : `There is no such destination. There are: ${Object.keys(destinations).join(", ")}.`
    answer(d, call.id, { error })
    return
  }
  const why = typeof reason === "string" && reason.trim() !== "" ? reason.trim() : null
  patch(d, { transfer: { destination, reason: why, tool: call.id, stage: "waiting" } })
}

/** Shows the model an action that it did not request, as if it had called a tool. */
export const note = (d: Draft, name: string, args: ToolUse["arguments"], result: unknown): void => {
  const turn = d.state.next_turn
  patch(d, { next_turn: turn + 1 })
  ensureAgent(d, turn, false)
  addUse(d, turn, {
    id: `svc_${turn}`,
    name,
    arguments: args,
    timeout_seconds: 0,
    pending: false,
    result,
    not_invoked: true
  })
}

const start = (d: Draft, turn: number, call: Called): void => {
  const { config } = d.state
  const refused = (error: string) => ({ ...call, timeout_seconds: 0, pending: false, result: { error } })
  const answered = (error: string) => addUse(d, turn, refused(error))
  if (!Model.isOffered(d, call.name)) {
    // No tool was called, so the record does not count it.
    addUse(d, turn, { ...refused(`There is no tool ${call.name}.`), not_invoked: true })
    return
  }
  if (call.name === "transfer_call") {
    transfer(d, turn, call)
    return
  }
  if (call.name === voicemailTool) {
    complete(d, turn, call, { status: "noted" })
    return
  }
  if (config?.platform_tools.some((tool) => tool === call.name)) {
    if (call.name === pressKeys) press(d, turn, call)
    else complete(d, turn, call, Language.choose(d, call.arguments))
    return
  }
  if (isSearch(d.state, call.name)) {
    const problem = queryOf(call.arguments) === "" ? "query is required." : null
    const use = { ...call, timeout_seconds: defaultToolSeconds, pending: true, result: null }
    addUse(d, turn, problem === null ? use : refused(problem))
    invoked(d, call)
    if (problem === null) run(d, call.id)
    else emit(d, { event: "tool.completed", data: { ...names(d, call), result: { error: problem } } })
    return
  }
  if (call.name === sendSms) {
    const sms = smsOf(call.arguments)
    const timeout_seconds = config?.send_sms?.timeout_seconds ?? defaultToolSeconds
    if (Either.isLeft(sms)) answered(sms.left)
    else addUse(d, turn, { ...call, timeout_seconds, pending: true, result: null })
    invoked(d, call)
    if (Either.isLeft(sms))
      emit(d, { event: "tool.completed", data: { ...names(d, call), result: { error: sms.left } } })
    else run(d, call.id)
    return
  }
  const definition = config?.tools.find((t) => t.name === call.name)
  if (definition === undefined) {
    answered(`There is no tool ${call.name}.`)
    return
  }
  addUse(d, turn, { ...call, timeout_seconds: definition.timeout_seconds, pending: true, result: null })
  invoked(d, call)
  if (definition.gather === undefined) run(d, call.id)
  else Gather.enqueue(d, { kind: "tool", id: call.id }, definition.gather)
}

/** Adds a tool call that is answered at once. */
const complete = (d: Draft, turn: number, call: Called, result: ToolUse["result"]): void => {
  addUse(d, turn, { ...call, timeout_seconds: 0, pending: false, result })
  invoked(d, call)
  emit(d, { event: "tool.completed", data: { ...names(d, call), result } })
}

const press = (d: Draft, turn: number, call: Called): void => {
  const given = PressKeys.keysOf(call.arguments)
  if (typeof given === "string") complete(d, turn, call, { error: given })
  else if (PressKeys.isPressing(d)) complete(d, turn, call, { error: "Other keys are being pressed." })
  else {
    addUse(d, turn, { ...call, timeout_seconds: 0, pending: true, result: null })
    invoked(d, call)
    PressKeys.begin(d, call.id, given.keys)
  }
}

export const onKeysTimer = (d: Draft): void => {
  const tool = PressKeys.onTimer(d)
  if (tool !== null) answer(d, tool, { status: "pressed" })
}

/** Whether a tool is the platform's search: a custom tool of that name takes its place. */
const isSearch = ({ config, knowledge }: Conversation, name: string): boolean =>
  name === searchKnowledge && knowledge.available && config?.tools.some((t) => t.name === name) !== true

const queryOf = ({ query }: ToolUse["arguments"]): string => (typeof query === "string" ? query.trim() : "")

/** Runs a tool: sends the text message, searches, or sends tool.call to the agent's server. `gathered`: the digits of its gather. */
export const run = (d: Draft, id: string, gathered?: { readonly [name: string]: string | null }): void => {
  const entry = pendingEntry(d, id)
  const use = entry === undefined ? undefined : useOf(entry, id)
  if (use === undefined) return
  const sms = use.name === sendSms ? smsOf(use.arguments) : undefined
  if (isSearch(d.state, use.name)) command(d, { _tag: "LookUp", id, purpose: "tool", query: queryOf(use.arguments) })
  else if (sms !== undefined && Either.isRight(sms)) command(d, { _tag: "SendSms", id, ...sms.right })
  else {
    // The same object if nothing is added: its text for the digest is kept.
    const args = gathered === undefined ? use.arguments : { ...use.arguments, ...gathered }
    command(d, { _tag: "InvokeTool", id, name: use.name, arguments: args })
  }
  startTimer(d, toolTimer(id), use.timeout_seconds * 1000)
  Filler.onToolStarted(d)
}

const names = (d: Draft, use: { readonly id: string; readonly name: string }) => ({
  ...ids(d),
  tool_name: use.name,
  tool_call_id: use.id
})

const invoked = (d: Draft, use: Pick<ToolUse, "id" | "name" | "arguments">): void =>
  emit(d, { event: "tool.invoked", data: { ...names(d, use), arguments: use.arguments } })

const setResult = (d: Draft, entry: AgentEntry, id: string, result: unknown): void => {
  stopTimer(d, toolTimer(id))
  PressKeys.cancel(d, id)
  updateAgent(d, entry.turn, (e) => ({
    ...e,
    tools: e.tools.map((t) => (t.id === id ? { ...t, pending: false, result } : t))
  }))
}

/** Sets the result of a tool; the model continues after the last one. */
export const answer = (d: Draft, id: string, result: unknown): void => {
  const entry = pendingEntry(d, id)
  const use = entry === undefined ? undefined : useOf(entry, id)
  if (entry === undefined || use === undefined) return
  setResult(d, entry, id, result)
  emit(d, { event: "tool.completed", data: { ...names(d, use), result } })
  Model.continueAfterTools(d)
}

export const onAnswered = (d: Draft, input: InputOf<"ToolAnswered">): void => answer(d, input.id, input.result)

export const onFound = (d: Draft, { id, passages }: InputOf<"KnowledgeFound">): void =>
  answer(d, id, searchResult(passages))

export const onFailed = (d: Draft, input: InputOf<"ToolFailed" | "KnowledgeFailed">): void => {
  const entry = pendingEntry(d, input.id)
  const use = entry === undefined ? undefined : useOf(entry, input.id)
  if (use === undefined) return
  if (input._tag === "ToolFailed") Problems.toolFailed(d, use.name, input)
  else Problems.warn(d, "knowledge", `a search of the model failed: ${input.reason}`)
  answer(d, input.id, { error: input.reason })
}

export const onTimeout = (d: Draft, id: string): void => {
  const entry = pendingEntry(d, id)
  const use = entry === undefined ? undefined : useOf(entry, id)
  if (entry === undefined || use === undefined) return
  Problems.toolTimedOut(d, use.name, use.timeout_seconds)
  command(d, { _tag: "CancelTool", id })
  setResult(d, entry, id, { error: "The tool did not answer in time." })
  emit(d, { event: "tool.timeout", data: { ...names(d, use), timeout_seconds: use.timeout_seconds } })
  Model.continueAfterTools(d)
}

/** Cancels all running tools, because the call is about to end. */
export const cancelAll = (d: Draft): void => {
  patch(d, { must_ask_model: false })
  for (const entry of d.state.entries) {
    if (entry.kind !== "agent") continue
    for (const use of entry.tools.filter((t) => t.pending)) {
      command(d, { _tag: "CancelTool", id: use.id })
      setResult(d, entry, use.id, { error: "The call ended." })
    }
  }
}

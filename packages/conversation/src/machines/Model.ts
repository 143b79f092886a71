import { command, type Draft, ensureAgent, patch, providerField, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import { may } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import * as Messages from "../ModelMessages.ts"
import { agentEntry, hasPendingTools, isTransferring } from "../State.ts"
import * as Filler from "./Filler.ts"
import * as Speech from "./Speech.ts"

/** Longest silence of the model before its turn counts as failed. */
export const modelMs = 10_000
/** Tool rounds in one turn of the caller; after them the model is asked without tools, so that it must speak. */
export const maxRounds = 5

/** Asks the model, unless tools are still running, digits are gathered or a transfer is under way: then it is asked after that. */
export const respond = (d: Draft): void => {
  if (mayAsk(d)) ask(d)
  else patch(d, { owed: true })
}

/** The model is asked when nothing is pending that it needs: results of tools, digits, the outcome of a transfer. */
const mayAsk = ({ state }: Draft): boolean =>
  may(state, "ask model") && state.gathers.length === 0 && !hasPendingTools(state) && !isTransferring(state)

/** Asks the next model the same. A model that gave nothing has used no round of tools. */
export const askNext = (d: Draft, failed_before: number): void => {
  const { next_turn, rounds } = d.state
  patch(d, { rounds: rounds - 1 })
  respond(d)
  const { model } = d.state
  if (model !== null && model.turn >= next_turn) patch(d, { model: { ...model, failed_before } })
}

const ask = (d: Draft): void => {
  if (d.state.model !== null) cancel(d)
  const turn = d.state.next_turn
  const tools = d.state.rounds + 1 > maxRounds ? [] : Messages.tools(d.state)
  const offered = tools.map(({ name }) => name)
  const model = {
    turn,
    asked_at: d.at,
    heard: d.state.unanswered,
    started_at: null,
    sentence_at: null,
    failed_before: 0,
    offered
  }
  patch(d, { next_turn: turn + 1, model, owed: false, rounds: d.state.rounds + 1 })
  command(d, {
    _tag: "AskModel",
    turn,
    messages: Messages.history(d.state),
    tools,
    ...providerField(d.state.ranks.model)
  })
  startTimer(d, "model", modelMs)
  Filler.start(d)
}

/** Stops the model; what it said so far stays. */
export const cancel = (d: Draft): void => {
  if (d.state.model === null) return
  command(d, { _tag: "CancelModel" })
  settle(d)
}

/** The model's turn is over, however. */
const settle = (d: Draft): void => {
  const { model } = d.state
  if (model === null) return
  stopTimer(d, "model")
  Filler.stop(d)
  patch(d, { model: null })
  updateAgent(d, model.turn, (e) => ({ ...e, generating: false }))
}

const isCurrent = (d: Draft, turn: number): boolean => d.state.model?.turn === turn

export const onStarted = (d: Draft, input: InputOf<"ModelStarted">): void => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn) || model.started_at !== null) return
  patch(d, { model: { ...model, started_at: d.at } })
  startTimer(d, "model", modelMs)
}

export const onSentence = (d: Draft, input: InputOf<"ModelSentence">): void => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn) || input.text.trim() === "") return
  startTimer(d, "model", modelMs)
  Filler.stop(d)
  if (model.sentence_at === null) {
    const timed = { ...model, started_at: model.started_at ?? d.at, sentence_at: d.at }
    patch(d, { model: timed, waiting: [...d.state.waiting, timed], failures: { ...d.state.failures, model: 0 } })
  }
  Speech.say(d, input.turn, input.text, true)
}

/** Whether the model may call a tool of this name in its turn. */
export const isOffered = (d: Draft, name: string): boolean => d.state.model?.offered.includes(name) === true

/** Returns whether the calls belong to the turn that we wait for. */
export const acceptsCalls = (d: Draft, input: InputOf<"ModelToolCalls">): boolean => {
  if (!isCurrent(d, input.turn) || input.calls.length === 0) return false
  startTimer(d, "model", modelMs)
  Filler.stop(d)
  ensureAgent(d, input.turn, true)
  patch(d, { owed: true })
  // A model that calls what it was not offered has not recovered from anything.
  if (input.calls.some(({ name }) => isOffered(d, name))) patch(d, { failures: { ...d.state.failures, model: 0 } })
  return true
}

/** Why a turn of the model failed. */
export interface ModelFailure {
  readonly reason: string
  /** Another model may do better. */
  readonly elsewhere: boolean
  /** The model failed before it gave anything: so many models in this answer, this one included. 0: it gave something, or hung. */
  readonly failed_at_once: number
}

/** The model is done. Returns why its turn failed, or null. */
export const onDone = (d: Draft, input: InputOf<"ModelDone">): ModelFailure | null => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn)) return null
  settle(d)
  const entry = agentEntry(d.state, input.turn)
  if (entry === undefined || (entry.utterances.length === 0 && entry.tools.length === 0)) {
    return { reason: "the model returned nothing", elsewhere: true, failed_at_once: 0 }
  }
  if (entry.tools.length > 0 && d.state.rounds > maxRounds) {
    // It was to speak at last; asked again it would only call again.
    patch(d, { owed: false })
    return entry.utterances.length === 0
      ? { reason: "the model calls tools without end", elsewhere: false, failed_at_once: 0 }
      : null
  }
  continueAfterTools(d)
  return null
}

export const onFailed = (d: Draft, input: InputOf<"ModelFailed">): ModelFailure | null => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn)) return null
  settle(d)
  const failed_at_once = model.started_at === null ? model.failed_before + 1 : 0
  return { reason: input.reason, elsewhere: true, failed_at_once }
}

/** The model said nothing for too long. */
export const onTimer = (d: Draft): ModelFailure | null => {
  if (d.state.model === null) return null
  cancel(d)
  return { reason: "the model did not answer in time", elsewhere: true, failed_at_once: 0 }
}

/** Once all tools have answered, no digits are gathered and the model is done with its turn, it goes on with the results. */
export const continueAfterTools = (d: Draft): void => {
  const { model, owed } = d.state
  if (owed && model === null && mayAsk(d)) ask(d)
}

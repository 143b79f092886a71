import type { CallConfig } from "../answers/CallConfig.ts"
import { command, type Draft, ensureAgent, patch, providerField, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import { agentEntry, hasPendingTools } from "../Entries.ts"
import { isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import * as Messages from "../ModelMessages.ts"
import { type Conversation, isTransferring } from "../State.ts"
import * as Filler from "./Filler.ts"
import * as History from "./History.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Problems from "./Problems.ts"
import * as Speculation from "./Speculation.ts"
import * as Speech from "./Speech.ts"

/** Longest silence of the model before its turn counts as failed. */
export const modelMs = 10_000
/** Tool rounds per turn of the caller. After them the model is asked without tools, so that it must speak. */
export const maxRounds = 5

/** Asks the model, or marks it as to be asked after running tools, gathers or a transfer. */
export const respond = (d: Draft, situation: Messages.Situation = {}): void => {
  if (mayAsk(d)) ask(d, situation)
  else patch(d, { must_ask_model: true })
}

/** Whether nothing is pending that the model needs: tool results, digits, the outcome of a transfer, passages. */
const mayAsk = ({ state }: Draft): boolean =>
  isAllowed(state, "ask model") &&
  state.gathers.length === 0 &&
  !hasPendingTools(state) &&
  !isTransferring(state) &&
  !Knowledge.isAwaited(state)

/** Asks the next model the same. A model without output does not use up a tool round. */
export const askNext = (d: Draft, failed_before: number): void => {
  const { next_turn, rounds } = d.state
  patch(d, { rounds: rounds - 1 })
  respond(d)
  const { model } = d.state
  if (model !== null && model.turn >= next_turn) patch(d, { model: { ...model, failed_before } })
}

const ask = (d: Draft, situation: Messages.Situation = {}): void => {
  if (d.state.model !== null) cancel(d)
  const turn = d.state.next_turn
  const tools = d.state.rounds + 1 > maxRounds ? [] : Messages.tools(d.state)
  const offered = tools.map(({ name }) => name)
  const model = {
    turn,
    asked_at: d.at,
    caller_turn: d.state.unanswered,
    started_at: null,
    sentence_at: null,
    failed_before: 0,
    offered
  }
  patch(d, { next_turn: turn + 1, model, must_ask_model: false, rounds: d.state.rounds + 1 })
  const { hasLeft, messages } = History.fitted(d, situation)
  const request = {
    messages,
    tools,
    ...settings(d.state.config?.model ?? null),
    ...providerField(d.state.provider_index.model)
  }
  const adopted = Speculation.adopt(d, request)
  command(d, { _tag: "AskModel", turn, ...adopted, ...request })
  if (hasLeft) History.summarize(d)
  startTimer(d, "model", modelMs)
  Filler.start(d)
}

/** The fields of the command that the configuration sets; others are the model's own choice. */
const settings = (given: CallConfig["model"]) =>
  given === null
    ? {}
    : {
        ...(given.name === null ? {} : { model: given.name }),
        ...(given.temperature === null ? {} : { temperature: given.temperature }),
        ...(given.max_tokens === null ? {} : { max_tokens: given.max_tokens })
      }

/** Stops the generation; its speech so far stays. */
export const cancel = (d: Draft): void => {
  if (d.state.model === null) return
  command(d, { _tag: "CancelModel" })
  endGeneration(d)
}

/** The generation has ended, in any way. */
const endGeneration = (d: Draft): void => {
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
  const options = input.space === undefined ? {} : { space: input.space }
  if (!Speech.isSpeakable(d.state, input.text)) {
    // The caller still waits for words.
    Speech.say(d, input.turn, input.text, true, options)
    return
  }
  Filler.stop(d)
  if (model.sentence_at === null) {
    const timed = { ...model, started_at: model.started_at ?? d.at, sentence_at: d.at }
    patch(d, { model: timed, unplayed: [...d.state.unplayed, timed], failures: { ...d.state.failures, model: 0 } })
  }
  Speech.say(d, input.turn, input.text, true, options)
}

/** Whether the model may call a tool of this name in its turn. */
export const isOffered = (d: Draft, name: string): boolean => d.state.model?.offered.includes(name) === true

/** Returns whether the tool calls belong to the current generation. */
export const acceptsCalls = (d: Draft, input: InputOf<"ModelToolCalls">): boolean => {
  if (!isCurrent(d, input.turn) || input.calls.length === 0) return false
  startTimer(d, "model", modelMs)
  Filler.stop(d)
  ensureAgent(d, input.turn, true)
  patch(d, { must_ask_model: true })
  // Calls of tools that were not offered do not reset the failures.
  if (input.calls.some(({ name }) => isOffered(d, name))) patch(d, { failures: { ...d.state.failures, model: 0 } })
  return true
}

/** A generation failed. */
export interface ModelFailure {
  readonly reason: string
  /** Whether the next model should be asked. */
  readonly may_fall_back: boolean
  /** How many models have failed without output in this turn, this one included; 0 if this one had output or hung. */
  readonly failed_without_output: number
}

/** Why the model stopped before the end of its answer. */
const cutReason = ({ config }: Conversation, cut: NonNullable<InputOf<"ModelDone">["cut"]>): string => {
  if (cut === "content_filter") return "the filter of its provider stopped it"
  const limit = config?.model?.max_tokens ?? null
  return limit === null
    ? "it reached the model's own limit of tokens"
    : `it reached model.max_tokens (${limit}), which counts thoughts too`
}

/** The generation is complete. Returns why it counts as failed, or null. */
export const onDone = (d: Draft, input: InputOf<"ModelDone">): ModelFailure | null => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn)) return null
  endGeneration(d)
  const entry = agentEntry(d.state, input.turn)
  if (entry === undefined || (!Speech.hasWords(entry) && entry.tools.length === 0)) {
    const nothing = entry === undefined ? "the model returned nothing" : "the model returned nothing that can be spoken"
    const reason = input.cut === undefined ? nothing : `${nothing}: ${cutReason(d.state, input.cut)}`
    return { reason, may_fall_back: true, failed_without_output: 0 }
  }
  if (input.cut !== undefined)
    Problems.warnOnce(d, "language-model", `an answer has no end: ${cutReason(d.state, input.cut)}`)
  if (entry.tools.length > 0 && d.state.rounds > maxRounds) {
    // It had to speak; asked again, it would only call tools again.
    patch(d, { must_ask_model: false })
    return !Speech.hasWords(entry)
      ? { reason: "the model calls tools without end", may_fall_back: false, failed_without_output: 0 }
      : null
  }
  continueAfterTools(d)
  return null
}

export const onFailed = (d: Draft, input: InputOf<"ModelFailed">): ModelFailure | null => {
  const { model } = d.state
  if (model === null || !isCurrent(d, input.turn)) return null
  endGeneration(d)
  const failed_without_output = model.started_at === null ? model.failed_before + 1 : 0
  return { reason: input.reason, may_fall_back: true, failed_without_output }
}

/** The model was silent for too long. */
export const onTimer = (d: Draft): ModelFailure | null => {
  if (d.state.model === null) return null
  cancel(d)
  return { reason: "the model did not answer in time", may_fall_back: true, failed_without_output: 0 }
}

/** Asks the model again when it has to be asked, its generation is complete, and nothing that it needs is pending. */
export const continueAfterTools = (d: Draft): void => {
  const { model, must_ask_model } = d.state
  if (must_ask_model && model === null && mayAsk(d)) ask(d)
}

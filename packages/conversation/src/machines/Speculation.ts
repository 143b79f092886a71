import { canonicalJson } from "@svc/api/CanonicalJson"
import type { Command, ModelRequest } from "../Command.ts"
import { command, type Draft, patch, startTimer, stopTimer } from "../Draft.ts"
import { isSpeaking } from "../Entries.ts"
import { sameWords } from "../phrases/Words.ts"
import { type Conversation, endsTurnsBySilence, noSpeculation, spokenWords, turnTakingOf } from "../State.ts"

/**
 * Speculation: the model is asked before the caller's turn has ended, with the request as it would be if the words so far
 * were the final ones. The shell holds the answer: nothing of it is spoken, and no tool runs, until it is adopted.
 *
 * | state | on | then |
 * |---|---|---|
 * | – | CallerEndExpected, or final words in silence | the end of the turn is expected |
 * | expected | end of a step; the turn, if it ended now, would ask the model | AskAhead: an answer is held |
 * | expected | other words, CallerEndWithdrawn | – |
 * | held | AskModel with the same request | the answer is adopted: AskModel names it |
 * | held | end of a step; the turn, if it ended now, would not ask the same | DropAhead |
 * | held | CallerEndWithdrawn, {@link heldMs} | DropAhead |
 *
 * Requests are the same when all of their parts are, but for case and punctuation of the caller's last words: so a change
 * of prompt, settings, passages, digits, tool results or of the agent's own words drops the answer. Only phone calls
 * speculate: `facts.preemptive`, and `turn_taking.preemptive`.
 */

/** How often the model is asked ahead in a turn of the caller. */
export const maxAhead = 3
/** The longest time for which an answer is held. */
export const heldMs = 10_000
/** How long a partial transcript does not change before the end of the turn is expected. */
const stableMs = 80
/**
 * How long the line has to be quiet as well, by `caution`, which rises with each answer that is dropped. Many words have gaps of 40 ms, few speakers pause for 160 ms
 * within a turn: so the wait adapts to the caller and to speech-to-text, and no more answers are dropped than adopted.
 */
const quietMs: ReadonlyArray<number> = [40, 80, 160]

const timer = "ahead"

/** Whether the model may be asked ahead now, if the end of the turn is expected. */
const isPossible = (state: Conversation): boolean => {
  const { caller, facts, interruption, model, phase, speculation } = state
  return (
    facts.preemptive === true &&
    turnTakingOf(state).preemptive &&
    phase === "live" &&
    caller.speaking &&
    speculation.asked < maxAhead &&
    model === null &&
    interruption === null &&
    !isSpeaking(state)
  )
}

/** How long the partial transcript stays the same, and the line quiet, at the probable end of a turn; in milliseconds. */
export interface Pause {
  readonly stableMs: number
  readonly quietMs: number
}

/** For the shell: the pause after which it feeds CallerEndExpected; null: the input would have no effect. */
export const pauseOf = (state: Conversation): Pause | null =>
  isPossible(state) && state.speculation.held === null
    ? { stableMs, quietMs: quietMs[state.speculation.caution] ?? 0 }
    : null

const patchSpeculation = (d: Draft, change: Partial<Conversation["speculation"]>): void =>
  patch(d, { speculation: { ...d.state.speculation, ...change } })

/** The caller has probably finished, with the words so far. Returns whether the model may be asked ahead. */
export const expectEnd = (d: Draft): boolean => {
  if (!isPossible(d.state)) return false
  patchSpeculation(d, { expected: spokenWords(d.state) })
  return true
}

/** Final words, or the end of sound: with both, silence will end the turn unless the caller goes on. */
export const onFinalOrSilence = (d: Draft): void => {
  const { partial, voice_active, words } = d.state.caller
  if (!voice_active && partial === "" && words.length > 0 && endsTurnsBySilence(d.state)) expectEnd(d)
}

/** The caller goes on, or does something else than to finish. */
export const withdraw = (d: Draft): void => {
  patchSpeculation(d, { expected: null })
  drop(d)
}

export const onTimer = (d: Draft): void => drop(d)

const drop = (d: Draft): void => {
  const { caution, held } = d.state.speculation
  if (held === null) return
  patchSpeculation(d, { held: null, caution: Math.min(caution + 1, quietMs.length - 1) })
  stopTimer(d, timer)
  command(d, { _tag: "DropAhead", id: held.id })
}

const isSame = (a: unknown, b: unknown): boolean => a === b || canonicalJson(a) === canonicalJson(b)

/**
 * Whether requests are the same, but for case and punctuation of the caller's last words. Most of their parts are the same
 * objects.
 */
const isSameRequest = (a: ModelRequest, b: ModelRequest): boolean => {
  const { messages, tools, ...settings } = a
  const { messages: others, tools: otherTools, ...otherSettings } = b
  const [last, otherLast] = [messages.at(-1), others.at(-1)]
  if (messages.length !== others.length || last === undefined || otherLast === undefined) return false
  const endsAlike =
    last.role === "user" && otherLast.role === "user"
      ? sameWords(last.content, otherLast.content)
      : isSame(last, otherLast)
  return (
    endsAlike &&
    messages.slice(0, -1).every((message, index) => isSame(message, others[index])) &&
    isSame(tools, otherTools) &&
    isSame(settings, otherSettings)
  )
}

/** Adopts the held answer if it is one to this request, else drops it. Returns the field that names it in AskModel. */
export const adopt = (d: Draft, request: ModelRequest): { readonly ahead?: string } => {
  const { caution, held } = d.state.speculation
  if (held === null) return {}
  if (!isSameRequest(held.request, request)) {
    drop(d)
    return {}
  }
  patchSpeculation(d, { held: null, caution: Math.max(0, caution - 1) })
  stopTimer(d, timer)
  return { ahead: held.id }
}

/** What the model would be asked if the caller's turn ended now; undefined: it would not be asked. */
const requestNow = (d: Draft, endTurn: (d: Draft) => void): ModelRequest | undefined => {
  const trial: Draft = { state: { ...d.state, speculation: noSpeculation }, isCopy: true, at: d.at, commands: [] }
  endTurn(trial)
  const asked = trial.commands.findLast((c): c is Extract<Command, { _tag: "AskModel" }> => c._tag === "AskModel")
  if (asked === undefined) return undefined
  const { _tag: _, turn: __, ...request } = asked
  return request
}

/**
 * At the end of a step: asks ahead, or drops what is not an answer to the caller any more. `endTurn` does all that the end
 * of the turn would do.
 */
export const settle = (d: Draft, endTurn: (d: Draft) => void): void => {
  const { caller, phase, speculation } = d.state
  if (phase === "over") {
    // The shell ends everything.
    if (speculation !== noSpeculation) patch(d, { speculation: noSpeculation })
    return
  }
  if (!caller.speaking && speculation.asked > 0) patchSpeculation(d, { asked: 0 })
  const isExpected =
    speculation.expected !== null && isPossible(d.state) && sameWords(speculation.expected, spokenWords(d.state))
  if (speculation.expected !== null && !isExpected) patchSpeculation(d, { expected: null })
  const { held } = speculation
  if (held === null && !isExpected) return
  const request = requestNow(d, endTurn)
  if (held !== null && (request === undefined || !isSameRequest(held.request, request))) drop(d)
  if (isExpected && request !== undefined && d.state.speculation.held === null) ask(d, request)
}

const ask = (d: Draft, request: ModelRequest): void => {
  const { asked, next } = d.state.speculation
  const id = `a${next}`
  patchSpeculation(d, { expected: null, held: { id, request }, asked: asked + 1, next: next + 1 })
  command(d, { _tag: "AskAhead", id, ...request })
  startTimer(d, timer, heldMs)
}

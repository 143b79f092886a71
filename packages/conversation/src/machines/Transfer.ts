import type { Outcome } from "../Command.ts"
import { command, type Draft, emit, ids, patch, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import { may } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { isTransferring, openEntries, type Transfer } from "../State.ts"
import * as Gather from "./Gather.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import * as Tools from "./Tools.ts"
import * as Turn from "./Turn.ts"

/**
 * Blind transfer of the caller, by the created tool `transfer_call` or through the API.
 *
 * | a transfer is | on | then |
 * |---|---|---|
 * | – | the tool is called | waiting |
 * | – | asked for through the API | what is said, thought and gathered is dropped; under way |
 * | waiting | the agent has finished what it says | under way: the network is asked |
 * | waiting | the call ends | – |
 * | under way | the network says completed | the call is the destination's: phase `transferred` |
 * | under way | the network says why not, or nothing for {@link outcomeMs} | failed: the model is told, and speaks on |
 * | under way | the caller hangs up, or the call ends | failed |
 * | given up for its time | the network says completed after all | phase `transferred`, without another event |
 *
 * Meanwhile the caller's words are written down and the model gets them when it has failed; no digits are gathered, and
 * inactivity does not count. `max_duration` does, until it has come through. From then on nobody of us hears or speaks;
 * the call is over when the network says so, or after {@link longestMs}. That time is the transfer's, not the call's.
 */

/** How long the network may take to tell the outcome: longer than it may itself ({@link transferOutcomeMs} of the contract). */
export const outcomeMs = 35_000
/** The longest that a transferred call may take: the network may have forgotten to tell us its end. */
export const longestMs = 4 * 3_600_000

const timer = "transfer"

/** How a transferred call ends. */
export const outcome: Outcome = { status: "completed", disposition: "transferred", ended_reason: "transfer" }

/** The API asks for it. Without effect unless the agent is talking with the caller, or when another is under way. */
export const onRequested = (d: Draft, { destination }: InputOf<"TransferRequested">): void => {
  if (d.state.phase !== "live" || isTransferring(d.state)) return
  Turn.silenceAgent(d)
  const gathers = d.state.gathers
  Gather.cancelAll(d)
  // First, so that the results of the tools do not make the model speak.
  begin(d, { destination, reason: null, tool: null, stage: "under way" })
  for (const { of } of gathers) {
    if (of.kind === "tool") Tools.answer(d, of.id, { error: "The call is being transferred." })
  }
}

/** Begins what the tool asked for, once the agent has finished what it says; called in every step. */
export const beginWaiting = (d: Draft): void => {
  const { transfer } = d.state
  if (transfer?.stage === "waiting" && may(d.state, "proceed")) begin(d, { ...transfer, stage: "under way" })
}

const begin = (d: Draft, transfer: Transfer): void => {
  const { destination, reason } = transfer
  patch(d, { transfer })
  emit(d, {
    event: "transfer.initiated",
    data: { ...ids(d), from: d.state.facts.from, transfer_to: destination, reason }
  })
  command(d, { _tag: "Transfer", destination })
  startTimer(d, timer, outcomeMs)
}

/** What the network says. */
export const onProgress = (d: Draft, { reason, state }: InputOf<"TransferProgressed">): void => {
  const { transfer } = d.state
  if (transfer === null || transfer.stage === "waiting") return
  if (state === "completed") complete(d, transfer)
  else if (state !== "ringing" && transfer.stage === "under way") fail(d, inWords[state] ?? reason ?? "failed")
}

const inWords: { readonly [state: string]: string } = {
  busy: "busy",
  "no-answer": "no answer",
  rejected: "rejected"
}

/** The network said nothing for too long. */
export const onTimer = (d: Draft): void => {
  const { transfer } = d.state
  if (transfer?.stage !== "under way") return
  fail(d, "the network did not tell the outcome in time")
  patch(d, { transfer: { ...transfer, stage: "given up" } })
}

const complete = (d: Draft, transfer: Transfer): void => {
  const { destination, stage, tool } = transfer
  if (stage !== "given up") {
    emit(d, {
      event: "transfer.completed",
      data: { ...ids(d), from: d.state.facts.from, transfer_to: destination }
    })
    command(d, { _tag: "TransferOver", failure_reason: null })
  }
  patch(d, { transfer: null, transferred: { destination, at: d.at } })
  if (tool !== null && stage !== "given up") Tools.answer(d, tool, { status: "transferred", destination })
  Model.cancel(d)
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  Speech.hush(d)
  for (const entry of openEntries(d.state)) {
    updateAgent(d, entry.turn, (e) => ({
      ...e,
      generating: false,
      utterances: e.utterances.map((u) => (u.state === "played" ? u : { ...u, state: "cut" }))
    }))
  }
  patch(d, { interruption: null, listening: false })
  Speech.closeFinished(d)
  Turn.commit(d)
  for (const name of d.state.timers) stopTimer(d, name)
  patch(d, { phase: "transferred", ending: { outcome, hanging: false } })
  startTimer(d, timer, longestMs)
}

/** Ends the transfer that is under way; the model is told, and goes on with the caller. */
const fail = (d: Draft, failure_reason: string): void => {
  const { transfer } = d.state
  if (transfer === null) return
  const { destination, tool } = transfer
  end(d, failure_reason)
  const result = { error: `The transfer to ${destination} failed: ${failure_reason}. The caller is still here.` }
  if (tool !== null) Tools.answer(d, tool, result)
  else {
    Tools.note(d, "transfer_call", { destination }, result)
    patch(d, { owed: true })
    Model.continueAfterTools(d)
  }
}

const end = (d: Draft, failure_reason: string): void => {
  const { transfer } = d.state
  if (transfer === null) return
  stopTimer(d, timer)
  patch(d, { transfer: null })
  if (transfer.stage !== "under way") return
  const { destination, reason } = transfer
  emit(d, {
    event: "transfer.failed",
    data: { ...ids(d), from: d.state.facts.from, transfer_to: destination, reason, failure_reason }
  })
  command(d, { _tag: "TransferOver", failure_reason })
}

/** The call is about to end. */
export const cancel = (d: Draft, why: string): void => end(d, why)

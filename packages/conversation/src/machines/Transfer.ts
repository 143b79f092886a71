import type { CommandOf, Outcome } from "../Command.ts"
import { command, type Draft, emit, ids, patch, startTimer, stopTimer, updateAgent } from "../Draft.ts"
import { openEntries } from "../Entries.ts"
import { isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { type Conversation, isTransferring, type Transfer } from "../State.ts"
import * as Gather from "./Gather.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import * as Tools from "./Tools.ts"
import * as Turn from "./Turn.ts"

/**
 * Transfer of the caller, by the created tool `transfer_call` or through the API: blind, or attended with a
 * `transfer_announcement`, which the agent says to the destination first.
 *
 * | a transfer is | on | then |
 * |---|---|---|
 * | – | the tool is called | waiting |
 * | – | requested through the API | speech, generation and gathers are dropped; in progress |
 * | waiting | the agent has finished speaking | in progress: the network is asked |
 * | waiting | the call ends | – |
 * | in progress | the network reports `completed` | phase `transferred` |
 * | in progress | the network reports a failure, or nothing for {@link outcomeMs}, with an announcement for {@link announcementMs} longer | failed: the model gets the reason and continues |
 * | in progress | the caller hangs up, or the call ends | failed |
 * | timed out | the network reports `completed` late | phase `transferred`, without another event |
 *
 * During a transfer the caller's words are recorded, and the model gets them if the transfer fails; no digits are
 * gathered, `inactivity_timeout` does not run, and `max_duration` does. After it has completed, the agent neither
 * listens nor speaks; the call is over when the network reports the end, or after {@link longestMs}. That time counts
 * as the transfer's duration.
 */

/** How long to wait for the outcome: longer than the contract allows the network (`transferOutcomeMs`). */
export const outcomeMs = 35_000
/** How much longer to wait where the destination hears an announcement: longer than the engine lets it take. */
export const announcementMs = 60_000
/** Time limit of a transferred call, in case the network does not report its end. */
export const longestMs = 4 * 3_600_000

const timer = "transfer"

/** How a transferred call ends. */
export const outcome: Outcome = { status: "completed", disposition: "transferred", ended_reason: "transfer" }

/** The API requests a transfer. No effect outside of a live conversation, or while another is pending. */
export const onRequested = (d: Draft, { destination }: InputOf<"TransferRequested">): void => {
  if (d.state.phase !== "live" || isTransferring(d.state)) return
  Turn.silenceAgent(d)
  const gathers = d.state.gathers
  Gather.cancelAll(d)
  // Before the tools get their results, so that these do not make the model speak.
  begin(d, { destination, reason: null, tool: null, stage: "in progress" })
  for (const { requester } of gathers) {
    if (requester.kind === "tool") Tools.answer(d, requester.id, { error: "The call is being transferred." })
  }
}

/** Begins the transfer of `transfer_call` when the agent has finished speaking; called in every step. */
export const beginWaiting = (d: Draft): void => {
  const { transfer } = d.state
  if (transfer?.stage === "waiting" && isAllowed(d.state, "start gather or transfer"))
    begin(d, { ...transfer, stage: "in progress" })
}

const begin = (d: Draft, transfer: Transfer): void => {
  const { destination, reason } = transfer
  patch(d, { transfer })
  const announcement = announcementOf(d.state, transfer)
  emit(d, {
    event: "transfer.initiated",
    data: { ...ids(d), from: d.state.facts.from, transfer_to: destination, reason }
  })
  command(d, { _tag: "Transfer", destination, ...(announcement === null ? {} : { announcement }) })
  startTimer(d, timer, announcement === null ? outcomeMs : outcomeMs + announcementMs)
}

/** What the agent says to the destination first; null: nothing. */
const announcementOf = (
  state: Conversation,
  { reason }: Transfer
): NonNullable<CommandOf<"Transfer">["announcement"]> | null => {
  const { config, facts } = state
  if (config?.transfer_announcement === undefined) return null
  const values: { readonly [name: string]: string } = { reason: reason ?? "", from: facts.from ?? "" }
  const filled = config.transfer_announcement.replace(
    /\{\{\s*(reason|from)\s*\}\}/g,
    (_, name: string) => values[name] ?? ""
  )
  return Speech.spokenBy(state, filled)
}

/** The network reported progress. */
export const onProgress = (d: Draft, { reason, state }: InputOf<"TransferProgressed">): void => {
  const { transfer } = d.state
  if (transfer === null || transfer.stage === "waiting") return
  if (state === "completed") complete(d, transfer)
  else if (state !== "ringing" && transfer.stage === "in progress") fail(d, failureReasons[state] ?? reason ?? "failed")
}

const failureReasons: { readonly [state: string]: string } = {
  busy: "busy",
  "no-answer": "no answer",
  rejected: "rejected"
}

/** The network reported no outcome in time. */
export const onTimer = (d: Draft): void => {
  const { transfer } = d.state
  if (transfer?.stage !== "in progress") return
  fail(d, "the network did not tell the outcome in time")
  patch(d, { transfer: { ...transfer, stage: "timed out" } })
}

const complete = (d: Draft, transfer: Transfer): void => {
  const { destination, stage, tool } = transfer
  if (stage !== "timed out") {
    emit(d, {
      event: "transfer.completed",
      data: { ...ids(d), from: d.state.facts.from, transfer_to: destination }
    })
    command(d, { _tag: "TransferOver", failure_reason: null })
  }
  // The agent has nothing to say about it any more.
  patch(d, { transfer: null, transferred: { destination, at: d.at }, must_ask_model: false })
  if (tool !== null && stage !== "timed out") Tools.answer(d, tool, { status: "transferred", destination })
  Model.cancel(d)
  Tools.cancelAll(d)
  Gather.cancelAll(d)
  Speech.recordSilence(d)
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
  patch(d, { phase: "transferred", ending: { outcome, hanging_up: false } })
  startTimer(d, timer, longestMs)
}

/** The transfer failed: the model gets the reason and continues with the caller. */
const fail = (d: Draft, failure_reason: string): void => {
  const { transfer } = d.state
  if (transfer === null) return
  const { destination, tool } = transfer
  end(d, failure_reason)
  const result = { error: `The transfer to ${destination} failed: ${failure_reason}. The caller is still here.` }
  if (tool !== null) Tools.answer(d, tool, result)
  else {
    Tools.note(d, "transfer_call", { destination }, result)
    patch(d, { must_ask_model: true })
    Model.continueAfterTools(d)
  }
}

const end = (d: Draft, failure_reason: string): void => {
  const { transfer } = d.state
  if (transfer === null) return
  stopTimer(d, timer)
  patch(d, { transfer: null })
  if (transfer.stage !== "in progress") return
  const { destination, reason } = transfer
  emit(d, {
    event: "transfer.failed",
    data: { ...ids(d), from: d.state.facts.from, transfer_to: destination, reason, failure_reason }
  })
  command(d, { _tag: "TransferOver", failure_reason })
}

/** Cancels a transfer, because the call is about to end. */
export const cancel = (d: Draft, why: string): void => end(d, why)

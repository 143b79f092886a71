import { command, type Draft, emit, ids, patch, startTimer, stopTimer } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import * as Ending from "./Ending.ts"
import * as Gather from "./Gather.ts"
import * as Limits from "./Limits.ts"
import * as Listening from "./Listening.ts"
import * as Outbound from "./Outbound.ts"
import * as Problems from "./Problems.ts"
import * as Speech from "./Speech.ts"
import * as Voicemail from "./Voicemail.ts"

/**
 * From the arrival of a call to its conversation.
 *
 * | phase | on | then |
 * |---|---|---|
 * | starting | a configuration, or a menu | answering: the call is answered |
 * | starting | no usable configuration | over: failed |
 * | answering | answered, with a configuration | live |
 * | answering | answered, with a menu | menu: its digits are gathered |
 * | answering | answered, outbound | connected: the configuration is requested |
 * | answering | the caller hung up, the network could not answer, or the dialled number did not | over |
 * | connected | a menu | menu |
 * | connected, menu after its digits | a configuration | live |
 * | connected, menu after its digits | no usable configuration | over: failed |
 *
 * An outbound call begins in `answering`; see Outbound.
 */

/** Whether the call is answered and waits for its configuration: an outbound call, or any call after the menu. */
const awaitsConfig = (d: Draft): boolean =>
  d.state.phase === "connected" || (d.state.phase === "menu" && !Gather.isActive(d.state))

export const onMenu = (d: Draft, { menu, warnings, warnings_dropped }: InputOf<"MenuAnswered">): void => {
  Problems.leftOut(d, warnings, warnings_dropped)
  if (d.state.phase === "connected") {
    patch(d, { phase: "menu", menu })
    Gather.enqueue(d, { kind: "menu" }, menu.rules, menu.max_retries)
  } else if (d.state.phase === "starting") {
    patch(d, { phase: "answering", menu })
    command(d, { _tag: "Answer" })
  }
}

export const onConfig = (d: Draft, { config }: InputOf<"ConfigAnswered">): void => {
  Problems.leftOut(d, config.warnings, config.warnings_dropped)
  if (awaitsConfig(d)) {
    patch(d, { phase: "live", config })
    startConversation(d)
  } else if (d.state.phase === "starting") {
    patch(d, { phase: "answering", config })
    command(d, { _tag: "Answer" })
  }
}

export const onConfigFailed = (d: Draft, input: InputOf<"ConfigFailed">): void => {
  if (d.state.phase !== "starting" && !awaitsConfig(d)) return
  Problems.notConfigured(d, input)
  Ending.over(d, Ending.failed)
}

export const onAnswered = (d: Draft): void => {
  const { facts, menu, phase } = d.state
  if (phase !== "answering") return
  const outbound = facts.outbound !== undefined
  patch(d, { phase: outbound ? "connected" : menu === null ? "live" : "menu", answered_at: d.at })
  emit(d, { event: "call.started", data: { ...ids(d), from: facts.from, to: facts.to } })
  if (outbound) {
    stopTimer(d, "ring")
    patch(d, { voicemail: "unknown" })
    startTimer(d, "voicemail_doubt", Voicemail.decisionMs)
    Limits.startMaxDuration(d)
    command(d, { _tag: "FetchConfig" })
  } else if (menu === null) startConversation(d)
  else {
    Limits.startMaxDuration(d)
    Gather.enqueue(d, { kind: "menu" }, menu.rules, menu.max_retries)
  }
}

export const onAnswerFailed = (d: Draft, { failed, reason }: InputOf<"AnswerFailed">): void => {
  if (d.state.phase !== "answering") return
  if (failed === true) Problems.failed(d, "telephony", `the call could not be answered: ${reason}`)
  Ending.over(d, failed === true ? Ending.failed : Ending.canceled)
}

export const onDialFailed = (d: Draft, { outcome, reason }: InputOf<"DialFailed">): void => {
  if (d.state.phase !== "answering" || d.state.facts.outbound === undefined) return
  const what = outcome === "rejected" ? "the call was declined" : "the call could not be placed"
  Problems.failed(d, "telephony", `${what}: ${reason}`)
  Ending.over(d, Outbound.outcomeOf(outcome))
}

/** Starts speech-to-text and the conversation. */
const startConversation = (d: Draft): void => {
  const { config } = d.state
  patch(d, { opened_at: d.at })
  Listening.listen(d)
  Limits.startMaxDuration(d)
  if (d.state.voicemail === "machine") Voicemail.onOpened(d)
  else if (config?.first_message) {
    patch(d, { greeting: d.state.next_turn })
    Speech.announce(d, config.first_message)
  }
}

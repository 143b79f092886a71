import type { Command } from "./Command.ts"
import type { Facts, Input } from "./Input.ts"
import * as AfterCall from "./machines/AfterCall.ts"
import * as Ending from "./machines/Ending.ts"
import * as Failures from "./machines/Failures.ts"
import * as Filler from "./machines/Filler.ts"
import * as Gather from "./machines/Gather.ts"
import * as Limits from "./machines/Limits.ts"
import * as Model from "./machines/Model.ts"
import * as Outbound from "./machines/Outbound.ts"
import * as Speech from "./machines/Speech.ts"
import * as Tools from "./machines/Tools.ts"
import * as Transfer from "./machines/Transfer.ts"
import * as Turn from "./machines/Turn.ts"
import * as Voicemail from "./machines/Voicemail.ts"
import {
  type Conversation,
  command,
  type Draft,
  emit,
  ids,
  initial,
  patch,
  startTimer,
  stopTimer,
  timestamp
} from "./State.ts"

/**
 * The conversation of a call, as a pure function: no I/O, no clock, no provider. The same inputs give the same commands,
 * so a call's journal replays, and a production call becomes a test.
 */

export type { Conversation } from "./State.ts"

type Result = readonly [Conversation, ReadonlyArray<Command>]

/** A call that has just come in, or is to be placed. */
export const start = (facts: Facts): Result => {
  const d: Draft = { state: initial(facts), at: 0, commands: [] }
  emit(d, { event: "call.ringing", data: { ...ids(d), from: facts.from, to: facts.to } })
  if (facts.outbound === undefined) command(d, { _tag: "FetchConfig" })
  else {
    command(d, { _tag: "Dial" })
    startTimer(d, Outbound.ringTimer, facts.outbound.ring_timeout_seconds * 1000)
  }
  return [d.state, d.commands]
}

/** What the conversation makes of an input. */
export const step = (state: Conversation, input: Input): Result => {
  if (state.phase === "over") return [state, []]
  const d: Draft = { state, at: Math.min(input.at, state.ended_at ?? input.at), commands: [] }
  if (state.phase === "draining") Ending.onDraining(d, input)
  else apply(d, input)
  Speech.closeFinished(d)
  Turn.proceed(d)
  Gather.proceed(d)
  Transfer.proceed(d)
  Ending.continueEnding(d)
  Limits.watchInactivity(d)
  return [d.state, d.commands]
}

/** Whether a partial transcript would change anything now; others need not be told (nor journaled). */
export const heedsPartial = (state: Conversation): boolean =>
  !state.caller.speaking ||
  state.voicemail === "unknown" ||
  (state.caller.words.length === 0 && state.caller.partial === "") ||
  state.phase === "draining" ||
  state.interruption?.user_text === null ||
  Speech.isSpeaking(state)

const apply = (d: Draft, input: Input): void => {
  if (d.state.phase === "after") {
    AfterCall.apply(d, input)
    return
  }
  switch (input._tag) {
    case "MenuAnswered":
      if (d.state.phase === "connected") {
        patch(d, { phase: "menu", menu: input.menu })
        Gather.enqueue(d, { kind: "menu" }, input.menu.rules, input.menu.max_retries)
        return
      }
      if (d.state.phase !== "starting") return
      patch(d, { phase: "answering", menu: input.menu })
      command(d, { _tag: "Answer" })
      return
    case "ConfigAnswered":
      if (awaitsConfig(d)) {
        patch(d, { phase: "live", config: input.config })
        converse(d)
      } else if (d.state.phase === "starting") {
        patch(d, { phase: "answering", config: input.config })
        command(d, { _tag: "Answer" })
      }
      return
    case "ConfigFailed":
      if (d.state.phase === "starting" || awaitsConfig(d)) Ending.over(d, Ending.failed)
      return
    case "Answered":
      if (d.state.phase === "answering") onAnswered(d)
      return
    case "AnswerFailed":
      if (d.state.phase === "answering") Ending.over(d, Ending.canceled)
      return
    case "DialFailed":
      if (d.state.phase === "answering") Ending.over(d, Outbound.outcomeOf(input.outcome))
      return
    case "CallerHungUp":
      if (d.state.voicemail === "machine") Ending.over(d, Voicemail.hungUp)
      else Ending.over(d, d.state.answered_at === null ? Ending.canceled : Ending.hungUp)
      return
    case "LegFailed":
      Ending.over(d, Ending.failed)
      return
    case "Crashed":
      // Nobody is there to tell of words that were not finished (decisions §4.14), or to give the last ones.
      patch(d, { caller: { ...d.state.caller, words: [], partial: "" }, listening: false })
      Ending.cutOff(d)
      return
    case "EndRequested":
      endRequested(d, input.by)
      return
    default:
      // Everything else belongs to an answered call that is ours.
      if (d.state.phase === "transferred") onTransferred(d, input)
      else if (d.state.answered_at !== null) applyLive(d, input)
      else if (Outbound.isOfRinging(input)) Ending.over(d, Outbound.outcomeOf("no-answer"))
      return
  }
}

/** The caller is with somebody else: we only wait for the end. */
const onTransferred = (d: Draft, input: Input): void => {
  if (input._tag === "TimerFired" && d.state.timers.has(input.timer)) Ending.over(d, Transfer.outcome)
}

const applyLive = (d: Draft, input: Input): void => {
  switch (input._tag) {
    case "CallerSpeechStarted":
      Voicemail.onSpeechStarted(d)
      Turn.onSpeechStarted(d, input)
      return
    case "CallerSpeechStopped":
      Turn.onSpeechStopped(d, input)
      Voicemail.onSpeechStopped(d)
      return
    case "CallerPartial":
      Voicemail.onWords(d, input.text)
      Turn.onWords(d, input.text, false)
      return
    case "CallerFinal":
      if (input.text.trim() !== "") patch(d, { failures: { ...d.state.failures, recognizer: 0 } })
      Voicemail.onWords(d, input.text)
      Turn.onWords(d, input.text, true)
      return
    case "CallerEndOfTurn":
      patch(d, { deaf_ms: 0 })
      Turn.onEndOfTurn(d)
      return
    case "RecognizerFinished":
      return
    case "RecognizerFailed":
      Failures.onRecognizer(d)
      return
    case "Dtmf":
      onDtmf(d, input.digit)
      return
    case "GatherRequested":
      if (d.state.phase !== "live" || Transfer.isActive(d.state)) return
      if (!Gather.isActive(d.state)) Gather.enqueue(d, { kind: "request" }, input.rules)
      return
    case "TransferRequested":
      Transfer.onRequested(d, input)
      return
    case "TransferProgressed":
      Transfer.onProgress(d, input)
      return
    case "BeepHeard":
      Voicemail.onBeep(d)
      return
    case "ModelStarted":
      Model.onStarted(d, input)
      return
    case "ModelSentence":
      Model.onSentence(d, input)
      return
    case "ModelToolCalls":
      if (!Model.acceptsCalls(d, input)) return
      if (Tools.invoke(d, input) !== null) Ending.begin(d, "agent-hangup", { finishSpeech: true })
      else Voicemail.onHint(d, input)
      return
    case "ModelDone":
      Failures.onModel(d, Model.onDone(d, input))
      return
    case "ModelFailed":
      Failures.onModel(d, Model.onFailed(d, input))
      return
    case "SpeechStarted":
      Speech.onStarted(d, input)
      return
    case "SpeechPlayed":
      Speech.onPlayed(d, input)
      return
    case "SpeechFailed":
      Failures.onVoice(d, input)
      return
    case "SpeechCleared":
      Speech.onCleared(d, input)
      if (!Failures.onCleared(d)) Turn.onCleared(d)
      return
    case "ToolAnswered":
      Tools.onAnswered(d, input)
      return
    case "ToolFailed":
      Tools.onFailed(d, input)
      return
    case "TimerFired":
      onTimer(d, input.timer)
      return
  }
}

/** Whether the call is answered and its configuration on its way: of a call that we placed, or after the menu. */
const awaitsConfig = (d: Draft): boolean =>
  d.state.phase === "connected" || (d.state.phase === "menu" && !Gather.isActive(d.state))

const onAnswered = (d: Draft): void => {
  const { facts, menu } = d.state
  const outbound = facts.outbound !== undefined
  patch(d, { phase: outbound ? "connected" : menu === null ? "live" : "menu", answered_at: d.at })
  emit(d, { event: "call.started", data: { ...ids(d), from: facts.from, to: facts.to } })
  if (outbound) {
    stopTimer(d, Outbound.ringTimer)
    patch(d, { voicemail: "unknown" })
    Voicemail.onAnswered(d)
    Limits.onAnswered(d)
    command(d, { _tag: "FetchConfig" })
    return
  }
  if (menu === null) {
    converse(d)
    return
  }
  Limits.onAnswered(d)
  Gather.enqueue(d, { kind: "menu" }, menu.rules, menu.max_retries)
}

/** From here on the caller is listened to. */
const converse = (d: Draft): void => {
  const { config } = d.state
  patch(d, { opened_at: d.at })
  Failures.listen(d)
  Limits.onAnswered(d)
  if (Voicemail.onConverse(d)) return
  if (config?.first_message) Speech.announce(d, config.first_message)
}

const endRequested = (d: Draft, by: "api" | "shutdown"): void => {
  if (d.state.phase === "transferred") {
    Ending.over(d, Transfer.outcome)
    return
  }
  if (by === "api") {
    Ending.begin(d, "api")
    return
  }
  patch(d, { stopping: true })
  if (d.state.answered_at === null) {
    Ending.over(d, Ending.failed)
    return
  }
  Ending.begin(d, "agent-hangup", { limitMs: Ending.shutdownFarewellMs })
}

const onDtmf = (d: Draft, digit: string): void => {
  Limits.noteActivity(d)
  const action = Gather.isActive(d.state) ? "gather" : (d.state.config?.dtmf_actions[digit] ?? "unmapped")
  emit(d, { event: "call.dtmf.received", data: { ...ids(d), digit, action } })
  afterGather(d, Gather.onKey(d, digit))
}

/** Hands the digits, or that there are none, to whom they were gathered for. */
const afterGather = (d: Draft, gathered: Gather.Gathered | null): void => {
  if (gathered === null) return
  const { input, of, status } = gathered
  if (of.kind === "tool") Tools.run(d, of.id, { gathered_input: input, gather_status: status })
  if (of.kind === "menu") {
    const gathered_digit = input === null ? null : input.slice(0, 1)
    command(d, { _tag: "FetchConfig", gathered: { gathered_digit, gathered_input: input, gather_status: status } })
  }
  Model.continueAfterTools(d)
}

const onTimer = (d: Draft, timer: string): void => {
  if (!d.state.timers.has(timer)) return
  const timers = new Set(d.state.timers)
  timers.delete(timer)
  patch(d, { timers })
  if (Voicemail.onTimer(d, timer)) return
  const tool = Tools.ofTimer(timer)
  if (tool !== undefined) {
    Tools.onTimeout(d, tool)
    return
  }
  switch (timer) {
    case "endpoint":
      onEndpoint(d)
      return
    case "barge_in":
      Turn.onBargeInTimer(d)
      return
    case "resume":
      Turn.onResumeTimer(d)
      return
    case "model":
      Failures.onModel(d, Model.onTimer(d))
      return
    case "filler":
      Filler.onTimer(d)
      return
    case "gather":
      afterGather(d, Gather.onTimer(d))
      return
    case "transfer":
      Transfer.onTimer(d)
      return
    case "max_duration":
      Ending.begin(d, "timeout")
      return
    case "inactivity":
      Ending.begin(d, "silence-timeout")
      return
    case "farewell":
      Ending.onFarewellTimer(d)
      return
  }
}

/** The caller has been quiet for long enough. */
const onEndpoint = (d: Draft): void => {
  const { partial, since, until, words } = d.state.caller
  const understood = partial !== "" || words.length > 0
  Turn.onEndOfTurn(d)
  if (!understood) Failures.onNothingHeard(d, until - since)
}

/** The wall-clock time of an input of this conversation, ISO 8601. */
export const isoTime = (state: Conversation, at: number): string => timestamp({ state, at, commands: [] })

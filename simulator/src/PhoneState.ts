import type { Agent } from "@svc/api/agents/Agent"
import type { Call } from "@svc/api/calls/Call"
import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Data } from "effect"
import * as Dialogue from "./Dialogue.ts"
import type { PhoneEvent } from "./PhoneEvent.ts"

/**
 * The inputs of the reducer: events of the phone, actions of the user, and updates from the voice API and the clock.
 */
export type Input = PhoneEvent | Action | Update

/** An action of the user. */
export type Action = Data.TaggedEnum<{
  Dialled: { readonly to: string; readonly from: string }
  /** An outbound call of the agent was requested. */
  Awaited: { readonly from: string }
  Said: { readonly text: string }
  Pressed: { readonly digits: string }
  HungUp: {}
}>
export const Action = Data.taggedEnum<Action>()

/** Data from the voice API, or a tick of the clock. */
export type Update = Data.TaggedEnum<{
  NumbersListed: { readonly numbers: ReadonlyArray<PhoneNumber>; readonly agents: ReadonlyArray<Agent> }
  RecordRead: { readonly call: Call }
  /** The address of the debug page. */
  LinkRead: { readonly call_id: string; readonly url: string }
  ApiFailed: { readonly message: string }
  Ticked: {}
}>
export const Update = Data.taggedEnum<Update>()

/** One row of the events pane. */
export interface LogEntry {
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: "info" | "good" | "bad" | "call" | "tool"
  readonly text: string
}

export type Connection =
  | { readonly status: "connecting" }
  | { readonly status: "connected"; readonly again: boolean }
  | { readonly status: "away"; readonly reason: string; readonly retry_at: number }

/** A number as the list shows it. */
export interface Listed {
  readonly number: string
  /** The name of the agent that answers it, if any. */
  readonly agent: string | null
}

/** One call as the phone sees it. Times are milliseconds since the epoch. */
export interface CallView {
  readonly phase: "dialling" | "ringing" | "live" | "ended"
  readonly to: string
  readonly from: string
  /** Known once the call is answered. */
  readonly call_id: string | null
  readonly dialled_at: number
  readonly answered_at: number | null
  readonly ended_at: number | null
  /** The network's cause, or `you hung up`. */
  readonly cause: string | null
  /** Who ended it. */
  readonly ended_by: "us" | "them" | "rejected" | "lost" | null
  readonly dialogue: Dialogue.Dialogue
  /** The number to which the agent transferred the call. */
  readonly transferred_to: string | null
  /** All digits sent so far. */
  readonly digits: string
  readonly tools: ReadonlyArray<string>
  readonly record: Call | null
  /** The address of the debug page, once the call is over. */
  readonly debug_url: string | null
}

/** The state that the screen shows and the headless runner waits on. */
export interface PhoneState {
  readonly now: number
  readonly connection: Connection
  /** Whether there was a connection before, so that the next one is a reconnection. */
  readonly was_connected: boolean
  readonly numbers: ReadonlyArray<Listed>
  readonly call: CallView | null
  readonly log: ReadonlyArray<LogEntry>
  readonly next_entry: number
  /** The number of messages that could not be decoded. */
  readonly unreadable: number
}

/** The number of log entries that are kept. */
const keptEntries = 200

export const initial = (now: number): PhoneState => ({
  now,
  connection: { status: "connecting" },
  was_connected: false,
  numbers: [],
  call: null,
  log: [],
  next_entry: 0,
  unreadable: 0
})

/** Whether there is a call that has not ended. */
export const inCall = (state: PhoneState): boolean => state.call !== null && state.call.phase !== "ended"

const note = (state: PhoneState, kind: LogEntry["kind"], text: string): PhoneState => ({
  ...state,
  log: [...state.log, { id: state.next_entry, at: state.now, kind, text }].slice(-keptEntries),
  next_entry: state.next_entry + 1
})

const onCall = (state: PhoneState, change: (call: CallView) => Partial<CallView>): PhoneState =>
  state.call === null ? state : { ...state, call: { ...state.call, ...change(state.call) } }

/** Changes the call unless it has ended. */
const onLiveCall = (state: PhoneState, change: (call: CallView) => Partial<CallView>): PhoneState =>
  inCall(state) ? onCall(state, change) : state

const endCall = (state: PhoneState, ended_by: NonNullable<CallView["ended_by"]>, cause: string): PhoneState =>
  onLiveCall(state, (call) => ({
    phase: "ended",
    ended_at: state.now,
    ended_by,
    cause,
    dialogue: Dialogue.finished(call.dialogue, state.now)
  }))

const newCall = (
  state: PhoneState,
  phase: CallView["phase"],
  { from, to }: { readonly from: string; readonly to: string }
): CallView => ({
  phase,
  to,
  from,
  call_id: null,
  dialled_at: state.now,
  answered_at: null,
  ended_at: null,
  cause: null,
  ended_by: null,
  dialogue: Dialogue.empty,
  transferred_to: null,
  digits: "",
  tools: [],
  record: null,
  debug_url: null
})

/** The next state. `at` is the time of the input in milliseconds since the epoch. Pure. */
export const reduce = (before: PhoneState, input: Input, at: number): PhoneState => {
  const state: PhoneState = { ...before, now: Math.max(before.now, at) }
  switch (input._tag) {
    case "Connecting":
      return state.connection.status === "away" ? state : { ...state, connection: { status: "connecting" } }
    case "Connected": {
      const again = state.was_connected || state.connection.status === "away"
      const up: PhoneState = { ...state, connection: { status: "connected", again }, was_connected: true }
      return note(up, "good", again ? "the server is back" : "connected to the server")
    }
    case "Disconnected": {
      const away: PhoneState = {
        ...state,
        connection: { status: "away", reason: input.reason, retry_at: state.now + input.retry_ms }
      }
      const noted =
        before.connection.status === "away" ? away : note(away, "bad", `the server is away: ${input.reason}`)
      return inCall(noted) ? endCall(note(noted, "bad", "the call is lost"), "lost", input.reason) : noted
    }
    case "Unreadable":
      return note({ ...state, unreadable: state.unreadable + 1 }, "bad", `unreadable message, ${input.reason}`)
    case "Received":
      return receive(state, input.message)
    case "Dialled":
      return note({ ...state, call: newCall(state, "dialling", input) }, "call", `dialling ${input.to}`)
    case "Awaited":
      return note(state, "call", `waiting for a call from ${input.from}`)
    case "Said":
      return onLiveCall(state, (call) => ({ dialogue: Dialogue.said(call.dialogue, input.text, state.now) }))
    case "Pressed":
      return note(
        onLiveCall(state, (call) => ({ digits: call.digits + input.digits })),
        "call",
        `keys ${input.digits}`
      )
    case "HungUp":
      return inCall(state) ? endCall(note(state, "call", "you hung up"), "us", "you hung up") : state
    case "NumbersListed": {
      const names = new Map<string, string>(input.agents.map((agent) => [agent.public_id, agent.name]))
      return {
        ...state,
        numbers: input.numbers
          .filter((number) => number.status === "active")
          .map(({ agent_id, number }) => ({
            number,
            agent: agent_id === null ? null : (names.get(agent_id) ?? agent_id)
          }))
      }
    }
    case "RecordRead":
      return recorded(state, input.call)
    case "LinkRead":
      return linked(state, input)
    case "ApiFailed":
      return note(state, "bad", input.message)
    case "Ticked":
      return state
  }
}

const receive = (state: PhoneState, message: ServerMessage): PhoneState => {
  switch (message.event) {
    case "ringing":
      return note(
        onLiveCall(state, () => ({ phase: "ringing" })),
        "call",
        "ringing"
      )
    case "answered":
      return note(
        onLiveCall(state, () => ({ phase: "live", call_id: message.call_id, answered_at: state.now })),
        "call",
        `answered, ${message.call_id}`
      )
    case "heard":
      return onLiveCall(state, (call) => ({
        dialogue: Dialogue.heard(call.dialogue, message.text, message.final, state.now)
      }))
    case "clear": {
      const cleared = onLiveCall(state, (call) => ({ dialogue: Dialogue.cleared(call.dialogue, state.now) }))
      return cleared.call?.dialogue === state.call?.dialogue
        ? cleared
        : note(cleared, "call", "the agent stopped speaking")
    }
    case "dtmf":
      return note(state, "call", `the agent pressed ${message.digits}`)
    case "transferred":
      return note(
        onLiveCall(state, () => ({ transferred_to: message.destination })),
        "call",
        `transferred to ${message.destination}`
      )
    case "rejected":
      return endCall(note(state, "bad", `rejected: ${message.cause}`), "rejected", message.cause)
    case "hangup":
      return endCall(note(state, "call", `the other side hung up: ${message.cause}`), "them", message.cause)
    case "error":
      return note(state, "bad", message.message)
    case "sms":
      return note(state, "info", `SMS ${message.from} → ${message.to}: ${message.message}`)
    case "incoming":
      return note(
        inCall(state) ? state : { ...state, call: newCall(state, "ringing", message) },
        "call",
        `incoming call from ${message.from}`
      )
    case "registered":
      return note(state, "info", `registered ${message.numbers.join(", ")}`)
    case "media":
      return state
  }
}

/** Adds the data of the call record: called tools, and latencies as the server measured them. */
const recorded = (state: PhoneState, record: Call): PhoneState => {
  const { call } = state
  if (call === null) return state
  // The record of a call without an id is searched after its end; until then a record belongs to another call.
  if (call.call_id === null ? call.phase !== "ended" : call.call_id !== record.call_id) return state
  const newTools = record.tools_called.slice(call.tools.length)
  const noted = newTools.reduce((s, tool) => note(s, "tool", `tool ${tool}`), state)
  return onCall(withProblems(noted, call.record, record), () => ({
    call_id: record.call_id,
    record,
    tools: record.tools_called,
    dialogue: Dialogue.measured(call.dialogue, record.latency_data.turns)
  }))
}

/** Why a call failed and what to do, as one line. */
export const failureLine = ({ hint, reason, stage }: NonNullable<Call["failure"]>): string =>
  `failed, ${stage}: ${reason}. ${hint}`

/** Notes what went wrong since the record was read before. */
const withProblems = (state: PhoneState, before: Call | null, { failure, warnings }: Call): PhoneState => {
  const warned = warnings
    .slice(before?.warnings.length ?? 0)
    .reduce((s, { reason, what }) => note(s, "bad", `warning, ${what}: ${reason}`), state)
  return failure === null || (before?.failure ?? null) !== null ? warned : note(warned, "bad", failureLine(failure))
}

const linked = (
  state: PhoneState,
  { call_id, url }: { readonly call_id: string; readonly url: string }
): PhoneState => {
  if (state.call === null || state.call.call_id !== call_id || state.call.debug_url !== null) return state
  const { record } = state.call
  const isWrong = record !== null && (record.failure !== null || record.warnings.length > 0)
  const after = onCall(state, () => ({ debug_url: url }))
  return isWrong ? note(after, "info", `debug page: ${url}`) : after
}

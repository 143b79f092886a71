import type { Call } from "@svc/api/calls/Call"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import type { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { type CallView, failureLine, newCall, withTimeline } from "./CallView.ts"
import * as Dialogue from "./Dialogue.ts"
import type { Input, Update } from "./PhoneInput.ts"
import { callsOf, inCall, type LogEntry, type PhoneState } from "./PhoneState.ts"
import { listLimit } from "./VoiceClient.ts"

/** The number of log entries that are kept. */
const keptEntries = 200
/** The number of earlier calls that are kept. */
const keptCalls = 30

const note = (state: PhoneState, kind: LogEntry["kind"], text: string): PhoneState => ({
  ...state,
  log: [...state.log, { id: state.next_entry, at: state.now, kind, text }].slice(-keptEntries),
  next_entry: state.next_entry + 1
})

/** Changes the call unless it has ended. */
const onLiveCall = (state: PhoneState, change: (call: CallView) => Partial<CallView>): PhoneState =>
  state.call === null || !inCall(state) ? state : { ...state, call: { ...state.call, ...change(state.call) } }

/** Changes the call with this `id`, if it is still kept. */
const onCall = (state: PhoneState, id: number, change: (call: CallView) => Partial<CallView>): PhoneState => {
  const changed = (call: CallView) => (call.id === id ? { ...call, ...change(call) } : call)
  return { ...state, call: state.call === null ? null : changed(state.call), past: state.past.map(changed) }
}

const endCall = (
  state: PhoneState,
  ended_by: NonNullable<CallView["ended_by"]>,
  cause: string,
  meaning = cause
): PhoneState =>
  onLiveCall(state, (call) => ({
    phase: "ended",
    ended_at: state.now,
    ended_by,
    cause,
    meaning,
    dialogue: Dialogue.finished(call.dialogue, state.now)
  }))

const begin = (
  state: PhoneState,
  phase: CallView["phase"],
  parties: { readonly from: string; readonly to: string }
): PhoneState => {
  const before = endCall(state, "us", "the next call was dialled")
  const past = callsOf(before)
  return {
    ...before,
    past: past.slice(0, keptCalls),
    call: newCall((past[0]?.id ?? 0) + 1, state.now, phase, parties)
  }
}

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
      return note(begin(state, "dialling", input), "call", `dialling ${input.to}`)
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
    case "NumbersListed":
      return listed(state, input)
    case "TimelineRead":
      return recorded(state, input.call, input.timeline)
    case "TimelineFailed":
      return onCall(state, input.call, () => ({ unread: input.message }))
    case "DeliveriesRead":
      return delivered(state, input.call, input.deliveries)
    case "LinkRead":
      return linked(state, input.call, input.url)
    case "ApiFailed":
      return note(input.kind === "refused" ? { ...state, key_problem: input.message } : state, "bad", input.message)
    case "Ticked":
      return state
  }
}

const listed = (
  state: PhoneState,
  { agents, numbers }: Extract<Update, { readonly _tag: "NumbersListed" }>
): PhoneState => {
  const names = new Map<string, string>(agents.map((agent) => [agent.public_id, agent.name]))
  return {
    ...state,
    key_problem: null,
    has_all_numbers: numbers.length < listLimit,
    numbers: numbers
      .filter((number) => number.status === "active")
      .map(({ agent_id, number }) => ({
        number,
        agent: agent_id === null ? null : (names.get(agent_id) ?? agent_id)
      }))
  }
}

const noAgent = "no agent has this number"

/** What a cause of the network means for the number that was dialled. */
const meaningOf = ({ call, has_all_numbers, numbers }: PhoneState, cause: string): string => {
  if (cause !== "unavailable" || call === null) return cause
  const dialled = numbers.find(({ number }) => number === call.to)
  if (dialled !== undefined && dialled.agent !== null) return `${dialled.agent} takes no calls at the moment`
  return dialled !== undefined || has_all_numbers ? noAgent : `${noAgent}, or its agent takes no calls at the moment`
}

const receive = (state: PhoneState, message: ServerMessage): PhoneState => {
  switch (message.event) {
    // These may come after the user has hung up.
    case "ringing":
      return inCall(state)
        ? note(
            onLiveCall(state, () => ({ phase: "ringing" })),
            "call",
            "ringing"
          )
        : state
    case "answered":
      return inCall(state)
        ? note(
            onLiveCall(state, () => ({ phase: "live", call_id: message.call_id, answered_at: state.now })),
            "call",
            `answered, ${message.call_id}`
          )
        : state
    case "heard":
      return onLiveCall(state, (call) => ({
        dialogue: Dialogue.heard(call.dialogue, message.text, message.final, state.now)
      }))
    case "clear": {
      const cleared = onLiveCall(state, (call) => ({ dialogue: Dialogue.cleared(call.dialogue, state.now) }))
      return cleared.call?.dialogue === state.call?.dialogue
        ? cleared
        : note(cleared, "call", "barge-in: the agent stopped speaking")
    }
    case "dtmf":
      return note(state, "call", `the agent pressed ${message.digits}`)
    case "transferred":
      return note(
        onLiveCall(state, () => ({ transferred_to: message.destination })),
        "call",
        `transferred to ${message.destination}`
      )
    case "rejected": {
      const meaning = meaningOf(state, message.cause)
      return endCall(note(state, "bad", `rejected: ${meaning}`), "rejected", message.cause, meaning)
    }
    case "hangup":
      return endCall(note(state, "call", `the other side hung up: ${message.cause}`), "them", message.cause)
    case "error":
      return note(state, "bad", message.message)
    case "sms":
      return note(state, "info", `SMS ${message.from} → ${message.to}: ${message.message}`)
    case "incoming":
      return note(
        inCall(state) ? state : begin(state, "ringing", message),
        "call",
        `incoming call from ${message.from}`
      )
    case "registered":
      return note(state, "info", `registered ${message.numbers.join(", ")}`)
    case "media":
      return state
  }
}

/** Adds what the timeline says: called tools, problems, and latencies as the server measured them. */
const recorded = (state: PhoneState, id: number, timeline: CallTimeline): PhoneState => {
  const call = callsOf(state).find((each) => each.id === id)
  if (call === undefined) return state
  // The record of a call without an id is searched after its end. Before that, or after the next call has begun, what is
  // found may belong to another call.
  const isSought = call.phase === "ended" && call.id === state.call?.id
  if (call.call_id === null ? !isSought : call.call_id !== timeline.call.call_id) return state
  // An answer that comes late, from before the end.
  if (call.record !== null && call.record.ended_at !== null && timeline.call.ended_at === null) return state
  const after = withTimeline(call, timeline)
  const { failure, tools_called, warnings } = after.record
  const noted = tools_called.slice(call.tools.length).reduce((s, tool) => note(s, "tool", `tool ${tool}`), state)
  const isExplained = call.ended_by === "rejected" && failure !== null && call.meaning !== noAgent
  const meaning = isExplained ? failure.reason : call.meaning
  return onCall(withProblems(noted, call.record, failure, warnings), id, () => ({ ...after, meaning }))
}

/** Notes what went wrong since the record was read before. */
const withProblems = (
  state: PhoneState,
  before: Call | null,
  failure: Call["failure"],
  warnings: Call["warnings"]
): PhoneState => {
  const warned = warnings
    .slice(before?.warnings.length ?? 0)
    .reduce((s, { reason, what }) => note(s, "bad", `warning, ${what}: ${reason}`), state)
  return failure === null || (before?.failure ?? null) !== null ? warned : note(warned, "bad", failureLine(failure))
}

/** Replaces the deliveries of the timeline by newer ones: they go on after the call. */
const delivered = (state: PhoneState, id: number, deliveries: ReadonlyArray<DeliveryRecord>): PhoneState =>
  onCall(state, id, ({ timeline }) =>
    timeline === null
      ? {}
      : {
          unread: null,
          timeline: {
            ...timeline,
            webhooks: deliveries.map(({ created_at, id: _, url, ...rest }) => ({
              ...rest,
              // Queries may be secret.
              url: url.replace(/\?.*$/s, ""),
              at: Date.parse(created_at) - Date.parse(timeline.call.started_at)
            }))
          }
        }
  )

const linked = (state: PhoneState, id: number, url: string): PhoneState => {
  const call = callsOf(state).find((each) => each.id === id)
  if (call === undefined || call.debug_url !== null) return state
  const after = onCall(state, id, () => ({ debug_url: url }))
  const isWrong = call.record !== null && (call.record.failure !== null || call.record.warnings.length > 0)
  return isWrong ? note(after, "info", `debug page: ${url}`) : after
}

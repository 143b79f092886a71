import type { Command, EmittedEvent, ProviderIndex } from "./Command.ts"
import { type AgentEntry, agentEntry } from "./Entries.ts"
import type { Facts } from "./Input.ts"
import { type Conversation, isoTime, isRunning } from "./State.ts"
import type { Timer } from "./Timer.ts"

/**
 * A step in progress: the state and the commands so far. The first change copies the state, and the others change the copy:
 * a copy costs as much as the rest of a small change. Nobody may keep `state` itself during the step, only its fields, which
 * are replaced and never mutated.
 */
export interface Draft {
  state: Conversation
  /** Whether `state` is this step's own copy. */
  isCopy: boolean
  /** Milliseconds since the call's start. */
  readonly at: number
  readonly commands: Array<Command>
}

export const patch = (d: Draft, change: Partial<Conversation>): void => {
  if (!d.isCopy) d.state = { ...d.state }
  d.isCopy = true
  Object.assign(d.state, change)
}

export const command = (d: Draft, c: Command): void => {
  d.commands.push(c)
}

export const emit = (d: Draft, event: EmittedEvent): void => {
  d.commands.push({ _tag: "Emit", at: d.at, ...event })
}

/** The ids that every event of a call carries. */
export const ids = (d: Draft): { readonly call_id: Facts["call_id"]; readonly agent_id: Facts["agent_id"] } => ({
  call_id: d.state.facts.call_id,
  agent_id: d.state.facts.agent_id
})

/** `at` as an ISO 8601 timestamp. */
export const timestamp = (d: Draft, at: number = d.at): string => isoTime(d.state, at)

/** `at` in seconds from the call's start, to the millisecond. */
export const seconds = (at: number): number => Math.round(at) / 1000

/** The part of a command that names a provider; none for the preferred one. */
export const providerField = (index: number): { readonly provider?: ProviderIndex } =>
  index === 0 ? {} : { provider: index }

export const startTimer = (d: Draft, timer: Timer, ms: number): void => {
  if (!isRunning(d.state, timer)) patch(d, { timers: [...d.state.timers, timer] })
  command(d, { _tag: "StartTimer", timer, ms })
}

/** Removes a timer that has fired, without a command. */
export const removeTimer = (d: Draft, timer: Timer): void =>
  patch(d, { timers: d.state.timers.filter((other) => other !== timer) })

export const stopTimer = (d: Draft, timer: Timer): void => {
  if (!isRunning(d.state, timer)) return
  removeTimer(d, timer)
  command(d, { _tag: "StopTimer", timer })
}

/** Replaces the agent entry of a turn. */
export const updateAgent = (d: Draft, turn: number, change: (entry: AgentEntry) => AgentEntry): void => {
  const { entries } = d.state
  const index = entries.findLastIndex((e) => e.kind === "agent" && e.turn === turn)
  const entry = entries[index]
  if (entry?.kind === "agent") patch(d, { entries: entries.with(index, change(entry)) })
}

/** Adds the agent entry of a turn unless it exists. */
export const ensureAgent = (
  d: Draft,
  turn: number,
  generating: boolean,
  hidden_from_model = false,
  filler = false
): void => {
  if (agentEntry(d.state, turn) !== undefined) return
  patch(d, {
    entries: [
      ...d.state.entries,
      {
        kind: "agent",
        turn,
        utterances: [],
        tools: [],
        generating,
        spoken_at: null,
        quiet_at: null,
        interrupted: false,
        closed: false,
        hidden_from_model,
        filler
      }
    ]
  })
}

import type { CallView } from "./CallView.ts"

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

/** The state that the screen shows and the headless runner waits on. */
export interface PhoneState {
  readonly now: number
  readonly connection: Connection
  /** Whether there was a connection before, so that the next one is a reconnection. */
  readonly was_connected: boolean
  readonly numbers: ReadonlyArray<Listed>
  /** Whether `numbers` are all numbers of the project. */
  readonly has_all_numbers: boolean
  /** Why the server refuses the key; null when it does not. */
  readonly key_problem: string | null
  readonly call: CallView | null
  /** Earlier calls, the newest first. */
  readonly past: ReadonlyArray<CallView>
  readonly log: ReadonlyArray<LogEntry>
  readonly next_entry: number
  /** The number of messages that could not be decoded. */
  readonly unreadable: number
}

export const initial = (now: number): PhoneState => ({
  now,
  connection: { status: "connecting" },
  was_connected: false,
  numbers: [],
  has_all_numbers: false,
  key_problem: null,
  call: null,
  past: [],
  log: [],
  next_entry: 0,
  unreadable: 0
})

/** Whether there is a call that has not ended. */
export const inCall = (state: PhoneState): boolean => state.call !== null && state.call.phase !== "ended"

/** All calls, the newest first. */
export const callsOf = ({ call, past }: PhoneState): ReadonlyArray<CallView> => (call === null ? past : [call, ...past])

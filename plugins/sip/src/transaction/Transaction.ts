import type { Message, Request, Response } from "../message/Message.ts"
import type { Timers, Timing } from "./Timing.ts"

/** What a transaction requests. They are to be carried out in order. */
export type Output =
  /** Send to where the transaction's messages go. */
  | { readonly _tag: "Send"; readonly message: Message }
  /** A response for the user of a client transaction; each status once, but provisional responses and 2xx to INVITE as they come. */
  | { readonly _tag: "Received"; readonly response: Response }
  /** No final response came, no ACK came, or the transport failed. It is the last output. */
  | { readonly _tag: "Failed"; readonly reason: "timeout" | "transport" }

/** Where and how a transaction runs. */
export interface Setting {
  /** Whether the transport loses nothing: TCP, TLS. */
  readonly reliable: boolean
  readonly timing: Timing
  /** Milliseconds in which a response must come to a request of ours; absent: 64 T1. */
  readonly answerWithin?: number
}

/** `calling`, `trying`: nothing came yet. `accepted`: a 2xx passed (RFC 6026). `terminated`: it can be dropped. */
export type State = "calling" | "trying" | "proceeding" | "completed" | "accepted" | "confirmed" | "terminated"

/** A transaction that began with a request of ours. */
export interface ClientTransaction extends Setting {
  readonly state: State
  readonly request: Request
  readonly timers: Timers
  /** The last interval of retransmission in ms. */
  readonly interval: number
}

/** A transaction that began with a request of the peer. */
export interface ServerTransaction extends Setting {
  readonly state: State
  readonly request: Request
  readonly timers: Timers
  readonly interval: number
  /** The last response that was sent. */
  readonly response: Response | undefined
}

/** The next state of a transaction and what it requests. */
export type Step<T> = readonly [T, ReadonlyArray<Output>]

export const nothing: ReadonlyArray<Output> = []

export const isProvisional = ({ status }: Response): boolean => status < 200

export const isSuccess = ({ status }: Response): boolean => status >= 200 && status < 300

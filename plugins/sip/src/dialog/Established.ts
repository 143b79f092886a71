import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { methods } from "../message/RequestCheck.ts"
import { type Timers, type Timing, without } from "../transaction/Timing.ts"
import type { Account, SentCredentials } from "./Account.ts"
import * as Dialog from "./Dialog.ts"
import { type Ending, event, type Output } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

/** A 2xx of ours that waits for its ACK. */
interface Unacknowledged {
  readonly key: string
  readonly response: Response
  readonly number: number
  readonly interval: number
  /** The 2xx has an offer, and the ACK its answer. */
  readonly isFirst: boolean
}

/** An answered call. */
export interface Established {
  readonly dialog: Dialog.Dialog
  readonly contact: string
  readonly account: Account | undefined
  readonly credentials: SentCredentials
  readonly timing: Timing
  /** Random text of this call. */
  readonly salt: string
  /** `ending`: BYE was sent. */
  readonly state: "talking" | "ending" | "ended"
  readonly timers: Timers
  readonly unacknowledged: Unacknowledged | undefined
  /** An INVITE of the peer in the call that was not answered yet. */
  readonly offered: { readonly key: string; readonly request: Request } | undefined
  /** The RAck of our last reliable provisional response, when its PRACK may still come (RFC 3262, 3). */
  readonly rack: string | undefined
  /** The number of our REFER, as it was sent first, whose subscription is open: its NOTIFYs come (RFC 3515, 2.4.4). */
  readonly refer: number | undefined
  /** Our last ACK, repeated when the 2xx comes again. */
  readonly ack: Request | undefined
  readonly timer: SessionTimer.SessionTimer | undefined
  /** The largest Min-SE of the call so far, in seconds (RFC 4028, 7.4). */
  readonly minSe: number
  /** The peer takes UPDATE. */
  readonly takesUpdate: boolean
  /** The peer takes REFER, and INVITE with Replaces. */
  readonly takesRefer: boolean
  readonly takesReplaces: boolean
  /** Our description, sent again to refresh the session. */
  readonly sdp: Uint8Array
  /** A request of ours to refresh the session is in flight. */
  readonly isRefreshing: boolean
  /** How often it was repeated with the longer interval of a 422 (RFC 4028, 7.3). */
  readonly lengthened: number
  /** Hang up once our 2xx is acknowledged (RFC 3261, 15). */
  readonly hangsUp: boolean
  readonly requests: number
  /** Whether the call is one that we placed. */
  readonly ownsCallId: boolean
}

/** What the beginning of a call gives. */
export type Base = Omit<
  Established,
  | "state"
  | "timers"
  | "unacknowledged"
  | "offered"
  | "refer"
  | "ack"
  | "isRefreshing"
  | "lengthened"
  | "hangsUp"
  | "requests"
  | "ownsCallId"
>

export type Step = readonly [Established, ReadonlyArray<Output>]

export const none: ReadonlyArray<Output> = []

/** With the session interval that was agreed, and its timer. */
export const withSession = (
  is: Established,
  timer: SessionTimer.SessionTimer | undefined,
  now: number
): Established => {
  const timers = without(is.timers, "session")
  return timer === undefined
    ? { ...is, timer, timers }
    : { ...is, timer, timers: { ...timers, session: now + SessionTimer.dueMs(timer) } }
}

const initial = {
  offered: undefined,
  refer: undefined,
  isRefreshing: false,
  lengthened: 0,
  hangsUp: false,
  requests: 0
}

/** The call after our 2xx to its INVITE, which is repeated until the ACK (RFC 3261, 13.3.1.4). */
export const answered = (base: Base, key: string, response: Response, now: number): Established => {
  const { timing } = base
  const fresh: Established = {
    ...base,
    state: "talking",
    timers: { repeat: now + timing.t1, noAck: now + 64 * timing.t1 },
    unacknowledged: {
      key,
      response,
      number: Message.cseq(response)?.number ?? 0,
      interval: timing.t1,
      isFirst: true
    },
    ...initial,
    ack: undefined,
    ownsCallId: false
  }
  return withSession(fresh, base.timer, now)
}

/** The call after a 2xx to our INVITE, with the ACK that was sent. */
export const confirmed = (base: Base, ack: Request, now: number): Established =>
  withSession(
    {
      ...base,
      state: "talking",
      timers: {},
      unacknowledged: undefined,
      ...initial,
      ack,
      ownsCallId: true
    },
    base.timer,
    now
  )

/** Sends a request in the dialog. */
export const send = (is: Established, method: string, content: Dialog.Content = {}): Step => {
  const [dialog, request] = Dialog.request(is.dialog, method, content)
  const id = `${method}-${is.requests}`
  return [{ ...is, dialog, requests: is.requests + 1 }, [{ _tag: "Request", id, request }]]
}

/** Answers a request of the peer in the dialog. */
export const reply = (
  is: Established,
  key: string,
  request: Request,
  status: number,
  reason: string,
  content?: Dialog.Content
): Step => [
  is,
  [{ _tag: "Respond", key, response: Dialog.respond(request, status, reason, is.dialog.localTag, content) }]
]

/** The headers that requests and responses with our Contact have. */
export const contactHeaders = (is: Established): Headers => [
  { name: "contact", value: is.contact },
  { name: "allow", value: methods.join(", ") },
  { name: "supported", value: "timer, 100rel" }
]

/** Sends BYE, or waits with it for the ACK of our answer. `reason` is text for the peer. */
export const hangUp = (is: Established, reason: string): Step => {
  if (is.state !== "talking") return [is, none]
  // A BYE before the ACK would cross our 2xx; the caller may only then know the dialog (RFC 3261, 15).
  if (is.unacknowledged?.isFirst === true) return [{ ...is, hangsUp: true }, none]
  const text = reason
    .replace(/[^\x20-\x7e]/g, "?")
    .replace(/["\\]/g, "'")
    .slice(0, 100)
  const headers = [{ name: "reason", value: `Q.850;cause=16;text="${text}"` }]
  const [next, outputs] = send({ ...is, timers: {}, unacknowledged: undefined }, "BYE", { headers })
  return [{ ...next, state: "ending" }, outputs]
}

/** The call is over. */
export const end = (is: Established, outputs: ReadonlyArray<Output>, ending: Ending): Step => [
  { ...is, state: "ended", timers: {}, unacknowledged: undefined, offered: undefined },
  [...outputs, event({ _tag: "Ended", ending })]
]

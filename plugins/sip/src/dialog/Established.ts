import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { methods } from "../message/RequestCheck.ts"
import { type Timers, type Timing, without } from "../transaction/Timing.ts"
import { type Account, authorized } from "./Account.ts"
import * as Dialog from "./Dialog.ts"
import { digitOf } from "./InfoDigit.ts"
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
  readonly timing: Timing
  /** Random text of this call. */
  readonly salt: string
  /** `ending`: BYE was sent. */
  readonly state: "talking" | "ending" | "ended"
  readonly timers: Timers
  readonly unacknowledged: Unacknowledged | undefined
  /** An INVITE of the peer in the call that was not answered yet. */
  readonly offered: { readonly key: string; readonly request: Request } | undefined
  /** Our last ACK, repeated when the 2xx comes again. */
  readonly ack: Request | undefined
  readonly timer: SessionTimer.SessionTimer | undefined
  /** The peer takes UPDATE. */
  readonly takesUpdate: boolean
  /** Our description, sent again to refresh the session. */
  readonly sdp: Uint8Array
  /** A request of ours to refresh the session is in flight. */
  readonly isRefreshing: boolean
  /** Hang up once our 2xx is acknowledged (RFC 3261, 15). */
  readonly hangsUp: boolean
  readonly requests: number
}

/** What the beginning of a call gives. */
export type Base = Omit<
  Established,
  "state" | "timers" | "unacknowledged" | "offered" | "ack" | "isRefreshing" | "hangsUp" | "requests"
>

export type Step = readonly [Established, ReadonlyArray<Output>]

const none: ReadonlyArray<Output> = []

export type Command =
  | { readonly _tag: "Hangup"; readonly reason: string }
  /** Blind transfer (RFC 3515). `target` is a URI. */
  | { readonly _tag: "Refer"; readonly target: string; readonly by: string }
  /** A digit in INFO, for peers without telephone events. */
  | { readonly _tag: "Info"; readonly digit: string }
  /** Asks whether the peer is there. */
  | { readonly _tag: "Probe" }
  | { readonly _tag: "Accept"; readonly key: string; readonly sdp: Uint8Array }
  | { readonly _tag: "Decline"; readonly key: string; readonly status: number; readonly reason: string }

const withSession = (is: Established, timer: SessionTimer.SessionTimer | undefined, now: number): Established => {
  const timers = without(is.timers, "session")
  return timer === undefined
    ? { ...is, timer, timers }
    : { ...is, timer, timers: { ...timers, session: now + SessionTimer.dueMs(timer) } }
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
    offered: undefined,
    ack: undefined,
    isRefreshing: false,
    hangsUp: false,
    requests: 0
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
      offered: undefined,
      ack,
      isRefreshing: false,
      hangsUp: false,
      requests: 0
    },
    base.timer,
    now
  )

const send = (is: Established, method: string, content: Dialog.Content = {}): Step => {
  const [dialog, request] = Dialog.request(is.dialog, method, content)
  const id = `${method}-${is.requests}`
  return [{ ...is, dialog, requests: is.requests + 1 }, [{ _tag: "Request", id, request }]]
}

const reply = (
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

const contactHeaders = (is: Established): Message.Headers => [
  { name: "contact", value: is.contact },
  { name: "allow", value: methods.join(", ") },
  { name: "supported", value: "timer, 100rel" }
]

const hangUp = (is: Established, reason: string): Step => {
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

export const command = (is: Established, given: Command, now: number): Step => {
  if (given._tag === "Hangup") return hangUp(is, given.reason)
  if (is.state !== "talking") return [is, none]
  if (given._tag === "Refer") {
    const headers = [
      { name: "contact", value: is.contact },
      { name: "refer-to", value: `<${given.target}>` },
      { name: "referred-by", value: `<${given.by}>` }
    ]
    return send(is, "REFER", { headers })
  }
  if (given._tag === "Probe") return send(is, "OPTIONS")
  if (given._tag === "Info") {
    const headers = [{ name: "content-type", value: "application/dtmf-relay" }]
    return send(is, "INFO", { headers, body: Buffer.from(`Signal=${given.digit}\r\nDuration=160\r\n`) })
  }
  const { offered } = is
  if (offered === undefined || offered.key !== given.key) return [is, none]
  const { key, request } = offered
  const settled: Established = { ...is, offered: undefined }
  if (given._tag === "Decline") return reply(settled, key, request, given.status, given.reason)
  const asked = SessionTimer.answered(request)
  const timer = asked === "tooSmall" ? undefined : asked
  const peerSupports = Message.tokens(request, "supported").includes("timer")
  const response = Dialog.respond(request, 200, "OK", is.dialog.localTag, {
    headers: [
      ...contactHeaders(is),
      ...SessionTimer.headersOf(timer, peerSupports),
      { name: "content-type", value: "application/sdp" }
    ],
    body: given.sdp
  })
  const next = withSession({ ...settled, sdp: given.sdp }, timer ?? is.timer, now)
  const outputs: ReadonlyArray<Output> = [{ _tag: "Respond", key, response }]
  if (request.method !== "INVITE") return [next, outputs]
  const { t1 } = is.timing
  const number = Message.cseq(request)?.number ?? 0
  const unacknowledged = { key, response, number, interval: t1, isFirst: false }
  return [{ ...next, unacknowledged, timers: { ...next.timers, repeat: now + t1, noAck: now + 64 * t1 } }, outputs]
}

const end = (is: Established, outputs: ReadonlyArray<Output>, ending: Ending): Step => [
  { ...is, state: "ended", timers: {}, unacknowledged: undefined, offered: undefined },
  [...outputs, event({ _tag: "Ended", ending })]
]

/** The Q.850 cause or SIP status that a BYE gives in Reason (RFC 3326). */
const reasonOf = (request: Request): { readonly code?: string; readonly reason?: string } => {
  const value = Message.header(request, "reason")
  const code = value === undefined ? undefined : /cause\s*=\s*(\d{1,3})/i.exec(value)?.[1]
  const text = value === undefined ? undefined : /text\s*=\s*"([^"]{0,200})"/i.exec(value)?.[1]
  return { ...(code === undefined ? {} : { code }), ...(text === undefined ? {} : { reason: text }) }
}

const offered = (is: Established, key: string, request: Request): Step => {
  const wait = { headers: [{ name: "retry-after", value: "1" }] }
  if (is.offered !== undefined || is.unacknowledged !== undefined) {
    return reply(is, key, request, 500, "Server Internal Error", wait)
  }
  if (is.isRefreshing) return reply(is, key, request, 491, "Request Pending")
  if (SessionTimer.answered(request) === "tooSmall") {
    const headers = [{ name: "min-se", value: String(SessionTimer.leastSeconds) }]
    return reply(is, key, request, 422, "Session Interval Too Small", { headers })
  }
  const sdp = request.body.length === 0 ? undefined : request.body
  return [{ ...is, offered: { key, request } }, [event({ _tag: "Offered", key, sdp })]]
}

const updated = (is: Established, key: string, request: Request, now: number): Step => {
  if (request.body.length > 0) return offered(is, key, request)
  const asked = SessionTimer.answered(request)
  if (asked === "tooSmall") return offered(is, key, request)
  const peerSupports = Message.tokens(request, "supported").includes("timer")
  const headers = [...contactHeaders(is), ...SessionTimer.headersOf(asked, peerSupports)]
  return reply(asked === undefined ? is : withSession(is, asked, now), key, request, 200, "OK", { headers })
}

const notified = (is: Established, key: string, request: Request): Step => {
  const [next, outputs] = reply(is, key, request, 200, "OK")
  const fragment = /^SIP\/2\.0 (\d{3}) ?([^\r\n]*)/.exec(Buffer.from(request.body).toString("utf8"))
  if (fragment === null) return [next, outputs]
  const { 1: status = "", 2: reason = "" } = fragment
  return [next, [...outputs, event({ _tag: "Transfer", status: Number(status), reason, from: "notify" })]]
}

/** A request of the peer in the call, with the key of its transaction. */
export const request = (is: Established, received: Request, key: string, now: number): Step => {
  const dialog = Dialog.receive(is.dialog, received)
  if (dialog === "old") return reply(is, key, received, 500, "Server Internal Error")
  const next = { ...is, dialog }
  if (is.state === "ended") return reply(next, key, received, 481, "Call/Transaction Does Not Exist")
  switch (received.method) {
    case "BYE": {
      const [done, outputs] = reply(next, key, received, 200, "OK")
      const cause = is.state === "ending" ? "local" : "hangup"
      return end(done, outputs, { cause, ...reasonOf(received) })
    }
    case "INVITE":
      return offered(next, key, received)
    case "UPDATE":
      return updated(next, key, received, now)
    case "INFO": {
      const digit = digitOf(received)
      const [done, outputs] = reply(next, key, received, 200, "OK")
      return [done, digit === undefined ? outputs : [...outputs, event({ _tag: "Digit", digit })]]
    }
    case "NOTIFY":
      return notified(next, key, received)
    case "OPTIONS":
      return reply(next, key, received, 200, "OK", { headers: contactHeaders(is) })
    case "REFER":
      return reply(next, key, received, 603, "Decline")
    default:
      return reply(next, key, received, 481, "Call/Transaction Does Not Exist")
  }
}

/** The ACK of a 2xx of ours. */
export const acknowledged = (is: Established, ack: Request): Step => {
  const { unacknowledged } = is
  if (unacknowledged === undefined || Message.cseq(ack)?.number !== unacknowledged.number) return [is, none]
  const next = { ...is, unacknowledged: undefined, timers: without(is.timers, "repeat", "noAck") }
  const sdp = ack.body.length === 0 ? undefined : ack.body
  const outputs = [event({ _tag: "Confirmed", sdp })]
  if (!is.hangsUp) return [next, outputs]
  const [ending, more] = hangUp(next, "normal clearing")
  return [ending, [...outputs, ...more]]
}

const refreshedBy = (is: Established, sent: Request, response: Response, now: number): Step => {
  const next = { ...is, isRefreshing: false, dialog: Dialog.refreshed(is.dialog, response) }
  const timer = SessionTimer.agreed(response) ?? is.timer
  const done = withSession(next, timer, now)
  if (sent.method !== "INVITE") return [done, none]
  const ack = Dialog.ack(done.dialog, Message.cseq(sent)?.number ?? 0)
  return [{ ...done, ack }, [{ _tag: "Request", id: "ACK", request: ack }]]
}

/** A response to a request of ours in the call. */
export const response = (is: Established, sent: Request, received: Response, now: number): Step => {
  const { status } = received
  if (status < 200 || is.state === "ended") return [is, none]
  if (status === 401 || status === 407) {
    const number = is.dialog.localNumber + 1
    const again = authorized(sent, received, is.account, number, is.salt)
    if (again !== undefined) {
      const id = `${sent.method}-${is.requests}`
      const dialog = { ...is.dialog, localNumber: number }
      return [{ ...is, dialog, requests: is.requests + 1 }, [{ _tag: "Request", id, request: again }]]
    }
  }
  if (sent.method === "BYE") return end(is, none, { cause: "local" })
  if (sent.method === "REFER") {
    if (status < 300) return [is, none]
    return [is, [event({ _tag: "Transfer", status, reason: received.reason, from: "refer" })]]
  }
  const isRefresh = sent.method === "INVITE" || sent.method === "UPDATE"
  if (isRefresh && status < 300) return refreshedBy(is, sent, received, now)
  // These two end the dialog (RFC 5057, 5.1); others end only the transaction.
  if (status === 481 || status === 408) {
    return end(is, none, { cause: "failed", code: String(status), reason: received.reason })
  }
  if (sent.method === "OPTIONS") return [is, [event({ _tag: "Alive" })]]
  if (!isRefresh) return [is, none]
  // Another try before the session expires; 491 asks for a pause (RFC 3261, 14.1).
  const pause = status === 491 ? 3000 : 10_000
  return [{ ...is, isRefreshing: false, timers: { ...is.timers, session: now + pause } }, none]
}

/** No response came to a request of ours in the call. */
export const failed = (is: Established, sent: Request, reason: string): Step => {
  if (is.state === "ended") return [is, none]
  if (sent.method === "BYE") return end(is, none, { cause: "local" })
  if (sent.method === "REFER") return [is, [event({ _tag: "Transfer", status: 408, reason, from: "refer" })]]
  return end(is, none, { cause: "failed", code: "408", reason: `no response to ${sent.method}: ${reason}` })
}

const refresh = (is: Established, now: number): Step => {
  const { timer } = is
  if (timer === undefined || is.state !== "talking") return [is, none]
  if (!timer.isOurs) return hangUp(is, "the session has expired")
  const headers = [
    ...contactHeaders(is),
    { name: "session-expires", value: `${timer.seconds};refresher=uac` },
    { name: "min-se", value: String(SessionTimer.leastSeconds) }
  ]
  const waiting = { ...is, isRefreshing: true, timers: { ...is.timers, session: now + timer.seconds * 500 } }
  if (is.isRefreshing) return hangUp(is, "the session could not be refreshed")
  if (is.takesUpdate) return send(waiting, "UPDATE", { headers })
  const withType = [...headers, { name: "content-type", value: "application/sdp" }]
  return send(waiting, "INVITE", { headers: withType, body: is.sdp })
}

/** A timer of the call is due. */
export const fire = (is: Established, timer: string, now: number): Step => {
  const rest = { ...is, timers: without(is.timers, timer) }
  const { unacknowledged } = is
  if (timer === "session") return refresh(rest, now)
  if (unacknowledged === undefined) return [rest, none]
  if (timer === "repeat") {
    const interval = Math.min(unacknowledged.interval * 2, is.timing.t2)
    const { key, response: repeated } = unacknowledged
    return [
      { ...rest, unacknowledged: { ...unacknowledged, interval }, timers: { ...rest.timers, repeat: now + interval } },
      [{ _tag: "Respond", key, response: repeated }]
    ]
  }
  if (timer !== "noAck") return [rest, none]
  const [ending, outputs] = hangUp({ ...rest, unacknowledged: undefined }, "no ACK came")
  return end(ending, outputs, { cause: "failed", code: "408", reason: "the answer was never acknowledged" })
}

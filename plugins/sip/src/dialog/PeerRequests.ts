import type { Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { without } from "../transaction/Timing.ts"
import * as Dialog from "./Dialog.ts"
import { contactHeaders, type Established, end, hangUp, none, reply, type Step, withSession } from "./Established.ts"
import { digitOf } from "./InfoDigit.ts"
import { type CallEvent, event } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

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
  const sdp = Message.description(request)
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

const isTerminated = (request: Request): boolean =>
  /^terminated\b/i.test(Message.header(request, "subscription-state") ?? "")

/**
 * The status of a transfer in a NOTIFY. A subscription that ends without a final status has no result any more (RFC 3515,
 * 2.4.7): the transfer has failed.
 */
const transferIn = (
  request: Request
): Pick<Extract<CallEvent, { readonly _tag: "Transfer" }>, "status" | "reason" | "isReported"> | undefined => {
  const fragment = /^SIP\/2\.0 (\d{3}) ?([^\r\n]*)/.exec(Buffer.from(request.body).toString("utf8"))
  const status = Number(fragment?.[1] ?? 100)
  if (isTerminated(request) && status < 200) {
    return { status: 500, reason: "the transfer ended without a result", isReported: false }
  }
  return fragment === null ? undefined : { status, reason: fragment[2] ?? "", isReported: true }
}

const notified = (is: Established, key: string, request: Request): Step => {
  const [name, ...params] = (Message.header(request, "event") ?? "refer").split(";").map((each) => each.trim())
  if (is.refer === undefined || name?.toLowerCase() !== "refer") {
    return reply(is, key, request, 481, "Subscription does not exist")
  }
  const ok = (next: Established): Step => reply(next, key, request, 200, "OK")
  // Its id is the number of the REFER (RFC 3515, 2.4.6): one before the last.
  const id = Number(params.find((each) => each.startsWith("id="))?.slice(3) ?? Number.NaN)
  if (id < is.refer) return ok(is)
  const [next, outputs] = ok(isTerminated(request) ? { ...is, refer: undefined } : is)
  const transfer = transferIn(request)
  return [
    next,
    transfer === undefined ? outputs : [...outputs, event({ _tag: "Transfer", ...transfer, from: "notify" })]
  ]
}

/** A request of the peer in the call, with the key of its transaction. */
export const request = (is: Established, received: Request, key: string, now: number): Step => {
  const dialog = Dialog.receive(is.dialog, received)
  if (dialog === "old") return reply(is, key, received, 500, "Server Internal Error")
  const next = { ...is, dialog, minSe: Math.max(is.minSe, SessionTimer.leastIn(received)) }
  if (is.state === "ended") return reply(next, key, received, 481, "Call/Transaction Does Not Exist")
  switch (received.method) {
    case "BYE": {
      const [done, outputs] = reply(next, key, received, 200, "OK")
      const cause = is.state === "ending" ? "local" : "hangup"
      return end(done, outputs, { cause, ...reasonOf(received) })
    }
    case "INVITE":
    case "UPDATE":
      // After our BYE no offer is answered.
      if (is.state === "ending") return reply(next, key, received, 481, "Call/Transaction Does Not Exist")
      return received.method === "INVITE" ? offered(next, key, received) : updated(next, key, received, now)
    case "INFO": {
      const digit = digitOf(received)
      const [done, outputs] = reply(next, key, received, 200, "OK")
      return [done, digit === undefined ? outputs : [...outputs, event({ _tag: "Digit", digit })]]
    }
    case "NOTIFY":
      return notified(next, key, received)
    case "OPTIONS":
      return reply(next, key, received, 200, "OK", { headers: contactHeaders(is) })
    case "PRACK": {
      const rack = Message.header(received, "rack")?.trim().replace(/\s+/g, " ")
      if (is.rack !== undefined && rack === is.rack)
        return reply({ ...next, rack: undefined }, key, received, 200, "OK")
      return reply(next, key, received, 481, "Call/Transaction Does Not Exist")
    }
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
  const sdp = Message.description(ack)
  const outputs = [event({ _tag: "Confirmed", sdp })]
  if (!is.hangsUp) return [next, outputs]
  const [ending, more] = hangUp(next, "normal clearing")
  return [ending, [...outputs, ...more]]
}

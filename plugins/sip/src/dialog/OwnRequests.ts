import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { authorized, credentialsOf } from "./Account.ts"
import * as Dialog from "./Dialog.ts"
import { type Established, end, none, type Step, withSession } from "./Established.ts"
import { pauseMs } from "./Glare.ts"
import { event } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

const refreshedBy = (is: Established, sent: Request, response: Response, now: number): Step => {
  const next = { ...is, isRefreshing: false, lengthened: 0, dialog: Dialog.refreshed(is.dialog, response) }
  const timer = SessionTimer.agreed(response) ?? is.timer
  const refreshed = withSession(next, timer, now)
  if (sent.method !== "INVITE") return [refreshed, none]
  const done = { ...refreshed, sdp: sent.body }
  const ack = Dialog.ack(done.dialog, Message.cseq(sent)?.number ?? 0, { headers: credentialsOf(sent) })
  const sdp = Message.description(response)
  const answered = sdp === undefined ? [] : [event({ _tag: "Refreshed", sdp })]
  return [{ ...done, ack }, [{ _tag: "Request", id: "ACK", request: ack }, ...answered]]
}

/** Sends a request again that has the next number already. */
const again = (is: Established, request: Request): Step => {
  const dialog = { ...is.dialog, localNumber: is.dialog.localNumber + 1 }
  const id = `${request.method}-${is.requests}`
  return [{ ...is, dialog, requests: is.requests + 1 }, [{ _tag: "Request", id, request }]]
}

/** How often a request is repeated at once with the longer interval of a 422. */
const maxLengthened = 3

/** A response to a request of ours in the call. */
export const response = (is: Established, sent: Request, received: Response, now: number): Step => {
  const { status } = received
  if (status < 200 || is.state === "ended") return [is, none]
  if (status === 401 || status === 407) {
    const number = is.dialog.localNumber + 1
    const authenticated = authorized(is, sent, received, number)
    if (authenticated !== undefined) {
      const [request, credentials] = authenticated
      return again({ ...is, credentials }, request)
    }
  }
  if (sent.method === "BYE") return end(is, none, { cause: "local" })
  if (sent.method === "REFER") {
    const next = status < 300 ? is : { ...is, refer: undefined }
    return [next, [event({ _tag: "Transfer", status, reason: received.reason, from: "refer", isReported: true })]]
  }
  // Of a provisional response to our INVITE, which has been answered since.
  if (sent.method === "PRACK") return [is, none]
  const isRefresh = sent.method === "INVITE" || sent.method === "UPDATE"
  if (isRefresh && status < 300) return refreshedBy(is, sent, received, now)
  // These two end the dialog (RFC 5057, 5.1); others end only the transaction.
  if (status === 481 || status === 408) {
    return end(is, none, { cause: "failed", code: String(status), reason: received.reason })
  }
  if (sent.method === "OPTIONS") return [is, [event({ _tag: "Alive" })]]
  if (sent.method === "INFO") return [is, [event({ _tag: "DigitAnswered" })]]
  if (!isRefresh) return [is, none]
  const longer = SessionTimer.lengthened(sent, received, is.dialog.localNumber + 1)
  if (longer !== undefined && is.lengthened < maxLengthened) {
    const minSe = Math.max(is.minSe, SessionTimer.leastIn(received))
    return again({ ...is, minSe, lengthened: is.lengthened + 1 }, longer)
  }
  // Another try before the session expires.
  const againMs = status === 491 ? pauseMs(is.ownsCallId, is.salt, now) : undefined
  const refused = sent.method === "INVITE" ? [event({ _tag: "OfferRefused", againMs })] : none
  return [
    { ...is, isRefreshing: false, lengthened: 0, timers: { ...is.timers, session: now + (againMs ?? 10_000) } },
    refused
  ]
}

/** No response came to a request of ours in the call. */
export const failed = (is: Established, sent: Request, reason: string): Step => {
  if (is.state === "ended") return [is, none]
  if (sent.method === "BYE") return end(is, none, { cause: "local" })
  if (sent.method === "REFER") {
    const text = `no response to REFER: ${reason}`
    return [
      { ...is, refer: undefined },
      [event({ _tag: "Transfer", status: 408, reason: text, from: "refer", isReported: false })]
    ]
  }
  if (sent.method === "PRACK") return [is, none]
  return end(is, none, { cause: "failed", code: "408", reason: `no response to ${sent.method}: ${reason}` })
}

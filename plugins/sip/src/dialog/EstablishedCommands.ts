import * as Message from "../message/Message.ts"
import * as Dialog from "./Dialog.ts"
import { contactHeaders, type Established, hangUp, none, reply, type Step, send, withSession } from "./Established.ts"
import { pauseMs } from "./Glare.ts"
import { event, type Output, warned } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

/** What the shell can ask of an answered call. */
export type Command =
  | { readonly _tag: "Hangup"; readonly reason: string }
  /** Blind transfer (RFC 3515). `target` is a URI. */
  | { readonly _tag: "Refer"; readonly target: string; readonly by: string }
  /** A digit in INFO, for peers without telephone events. */
  | { readonly _tag: "Info"; readonly digit: string }
  /** A new offer in the call, such as hold (RFC 3264, 8). */
  | { readonly _tag: "Offer"; readonly sdp: Uint8Array }
  /** Asks whether the peer is there. */
  | { readonly _tag: "Probe" }
  | { readonly _tag: "Accept"; readonly key: string; readonly sdp: Uint8Array }
  /** `warning`: the value of Warning (RFC 3261, 20.43). */
  | {
      readonly _tag: "Decline"
      readonly key: string
      readonly status: number
      readonly reason: string
      readonly warning?: string
    }

/** One offer at a time (RFC 3264, 4). The INVITE refreshes the session too, where that is ours to do. */
const offer = (is: Established, sdp: Uint8Array, now: number): Step => {
  if (is.isRefreshing || is.offered !== undefined || is.unacknowledged !== undefined) {
    return [is, [event({ _tag: "OfferRefused", againMs: pauseMs(is.ownsCallId, is.salt, now) })]]
  }
  const { timer } = is
  const isOurs = timer?.isOurs === true
  const headers = [
    ...contactHeaders(is),
    ...(isOurs ? SessionTimer.refreshHeaders(timer, is.minSe) : []),
    { name: "content-type", value: "application/sdp" }
  ]
  const timers = isOurs ? { ...is.timers, session: now + timer.seconds * 500 } : is.timers
  return send({ ...is, isRefreshing: true, timers }, "INVITE", { headers, body: sdp })
}

/** Carries out a command. */
export const command = (is: Established, given: Command, now: number): Step => {
  if (given._tag === "Hangup") return hangUp(is, given.reason)
  if (is.state !== "talking") return [is, none]
  if (given._tag === "Refer") {
    const headers = [
      { name: "contact", value: is.contact },
      { name: "refer-to", value: `<${given.target}>` },
      { name: "referred-by", value: `<${given.by}>` }
    ]
    return send({ ...is, refer: is.dialog.localNumber + 1 }, "REFER", { headers })
  }
  if (given._tag === "Probe") {
    // Before its ACK the caller may not know the dialog; the ACK then is the sign that it is there.
    return is.unacknowledged === undefined ? send(is, "OPTIONS") : [is, none]
  }
  if (given._tag === "Offer") return offer(is, given.sdp, now)
  if (given._tag === "Info") {
    const headers = [{ name: "content-type", value: "application/dtmf-relay" }]
    return send(is, "INFO", { headers, body: Buffer.from(`Signal=${given.digit}\r\nDuration=160\r\n`) })
  }
  const { offered } = is
  if (offered === undefined || offered.key !== given.key) return [is, none]
  const { key, request } = offered
  const settled: Established = { ...is, offered: undefined }
  if (given._tag === "Decline") {
    return reply(settled, key, request, given.status, given.reason, warned(given.warning))
  }
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

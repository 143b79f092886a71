import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { methods } from "../message/RequestCheck.ts"
import { decimal } from "../message/Syntax.ts"
import { type Timers, type Timing, without } from "../transaction/Timing.ts"
import { type Account, noCredentials } from "./Account.ts"
import * as Dialog from "./Dialog.ts"
import * as Established from "./Established.ts"
import { event, type Output, warned } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

/** A provisional response that the caller must acknowledge with PRACK (RFC 3262). */
interface Reliable {
  readonly response: Response
  readonly number: number
  readonly interval: number
}

/** An INVITE of the peer that was not answered yet. */
export interface Inbound {
  readonly invite: Request
  /** The key of its transaction. */
  readonly key: string
  readonly dialog: Dialog.Dialog
  readonly contact: string
  readonly timing: Timing
  readonly salt: string
  readonly timers: Timers
  readonly reliable: Reliable | undefined
  /** The number of the last reliable response. */
  readonly number: number
  readonly isRinging: boolean
  /** Our offer in the reliable 180, whose answer the PRACK has (RFC 3262, 5). */
  readonly early: { readonly sdp: Uint8Array; readonly isAnswered: boolean } | undefined
  /** The call is to be answered as soon as that PRACK is there. */
  readonly accepting: { readonly account: Account | undefined } | undefined
}

/** The call goes on as inbound, is answered, or is over. */
export type Next =
  | { readonly _tag: "Inbound"; readonly is: Inbound }
  | { readonly _tag: "Established"; readonly is: Established.Established }
  | { readonly _tag: "Over" }

export type Step = readonly [Next, ReadonlyArray<Output>]

export type Command =
  /** `sdp`: our offer, which is sent where `ringsWithOffer`. */
  | { readonly _tag: "Ring"; readonly sdp?: Uint8Array }
  /**
   * `sdp`: that of `Ring`, where it was sent. `account`: what the caller's trunk knows us by, for its challenges to
   * requests of ours.
   */
  | { readonly _tag: "Answer"; readonly sdp: Uint8Array; readonly account?: Account | undefined }
  /** `warning`: the value of Warning (RFC 3261, 20.43). */
  | { readonly _tag: "Reject"; readonly status: number; readonly reason: string; readonly warning?: string }

const typeHeader = { name: "content-type", value: "application/sdp" }

const over: Next = { _tag: "Over" }

const stays = (is: Inbound, ...outputs: ReadonlyArray<Output>): Step => [{ _tag: "Inbound", is }, outputs]

const reply = (is: Inbound, status: number, reason: string, content?: Dialog.Content): Response =>
  Dialog.respond(is.invite, status, reason, is.dialog.localTag, content)

/** A final or provisional response to the INVITE. */
const refusal = (is: Inbound, status: number, reason: string, content?: Dialog.Content): Output => ({
  _tag: "Respond",
  key: is.key,
  response: reply(is, status, reason, content)
})

/** How long a call may wait for its answer, in ms: as long as proxies let it ring (RFC 3261, 16.6, timer C). */
const unansweredMs = 180_000

/** When the invitation expires that a caller has limited (RFC 3261, 13.3.1), in ms. A date of RFC 2543 is left out. */
const expiryOf = (invite: Request, now: number): Timers => {
  const seconds = decimal(Message.header(invite, "expires")?.trim() ?? "", 2 ** 32)
  return seconds === undefined ? {} : { expired: now + seconds * 1000 }
}

/**
 * Begins an inbound call: 100 is sent at once. A session interval that is too small is refused with 422. `localTag` and
 * `salt` are random text.
 */
export const start = (given: {
  readonly invite: Request
  readonly key: string
  readonly localTag: string
  readonly salt: string
  readonly contact: string
  readonly timing: Timing
  /** In ms. */
  readonly now: number
}): Step => {
  const { contact, invite, key, localTag, now, salt, timing } = given
  const is: Inbound = {
    invite,
    key,
    dialog: Dialog.ofInvite(invite, localTag),
    contact,
    timing,
    salt,
    timers: { unanswered: now + unansweredMs, ...expiryOf(invite, now) },
    reliable: undefined,
    number: Number.parseInt(salt.slice(0, 6), 16) || 1,
    isRinging: false,
    early: undefined,
    accepting: undefined
  }
  if (SessionTimer.answered(invite) === "tooSmall") {
    const headers = [{ name: "min-se", value: String(SessionTimer.leastSeconds) }]
    return [over, [refusal(is, 422, "Session Interval Too Small", { headers })]]
  }
  return stays(is, refusal(is, 100, "Trying"))
}

const ringsReliably = (invite: Request): boolean => Message.tokens(invite, "require").includes("100rel")

/** Whether 180 must be reliable and the INVITE has no offer: then the 180 has ours (RFC 3262, 5). */
export const ringsWithOffer = (invite: Request): boolean => ringsReliably(invite) && invite.body.length === 0

const ring = (is: Inbound, sdp: Uint8Array | undefined, now: number): Step => {
  const needsOffer = ringsWithOffer(is.invite)
  // Without an offer nothing is sent: 180 is not required.
  if (is.isRinging || (needsOffer && sdp === undefined)) return stays(is)
  const isReliable = ringsReliably(is.invite)
  const contact = { name: "contact", value: is.contact }
  if (!isReliable) return stays({ ...is, isRinging: true }, refusal(is, 180, "Ringing", { headers: [contact] }))
  const number = is.number + 1
  const headers = [contact, { name: "require", value: "100rel" }, { name: "rseq", value: String(number) }]
  const early = needsOffer && sdp !== undefined ? { sdp, isAnswered: false } : undefined
  const response = reply(
    is,
    180,
    "Ringing",
    early === undefined ? { headers } : { headers: [...headers, typeHeader], body: early.sdp }
  )
  const { t1 } = is.timing
  const timers = { ...is.timers, repeat: now + t1, unconfirmed: now + 64 * t1 }
  const next: Inbound = { ...is, isRinging: true, number, reliable: { response, number, interval: t1 }, timers, early }
  return stays(next, { _tag: "Respond", key: is.key, response })
}

/** The RAck of the PRACK that is waited for (RFC 3262, 7.2). */
const rackOf = ({ invite, reliable }: Inbound): string | undefined =>
  reliable === undefined ? undefined : `${reliable.number} ${Message.cseq(invite)?.number} INVITE`

/**
 * Answers the call. While a 180 with an offer has no PRACK, the 200 waits for that (RFC 3262, 5); then it has no
 * description, since the offer is answered.
 */
const answer = (is: Inbound, sdp: Uint8Array, account: Account | undefined, now: number): Step => {
  if (is.early?.isAnswered === false) return stays({ ...is, accepting: { account } })
  const asked = SessionTimer.answered(is.invite)
  const timer = asked === "tooSmall" ? undefined : asked
  const supported = Message.tokens(is.invite, "supported")
  const response = reply(is, 200, "OK", {
    headers: [
      { name: "contact", value: is.contact },
      { name: "allow", value: methods.join(", ") },
      { name: "supported", value: "timer, 100rel" },
      ...SessionTimer.headersOf(timer, supported.includes("timer")),
      ...(is.early === undefined ? [typeHeader] : [])
    ],
    body: is.early === undefined ? sdp : Message.noBody
  })
  const established = Established.answered(
    {
      dialog: is.dialog,
      contact: is.contact,
      account,
      credentials: noCredentials,
      timing: is.timing,
      salt: is.salt,
      timer,
      minSe: SessionTimer.leastIn(is.invite),
      takesUpdate: Message.tokens(is.invite, "allow").includes("update"),
      takesRefer: Message.tokens(is.invite, "allow").includes("refer"),
      takesReplaces: supported.includes("replaces"),
      sdp,
      rack: rackOf(is)
    },
    is.key,
    response,
    now
  )
  return [{ _tag: "Established", is: established }, [{ _tag: "Respond", key: is.key, response }]]
}

export const command = (is: Inbound, given: Command, now: number): Step => {
  if (given._tag === "Ring") return ring(is, given.sdp, now)
  if (given._tag === "Answer") return answer(is, given.sdp, given.account, now)
  return [over, [refusal(is, given.status, given.reason, warned(given.warning))]]
}

/** The call is over before our answer, and the caller did not end it. */
const failed = (reason: string): Output => event({ _tag: "Canceled", reason, isByCaller: false })

/** The caller has ended the call. */
const canceled = (is: Inbound, reason: string, ...outputs: ReadonlyArray<Output>): Step => [
  over,
  [...outputs, refusal(is, 487, "Request Terminated"), event({ _tag: "Canceled", reason, isByCaller: true })]
]

/** Takes the answer to the offer of our 180. A PRACK without one ends the call, as there can be no other answer. */
const earlyAnswered = (is: Inbound, sdp: Uint8Array | undefined, ok: Output, now: number): Step => {
  if (sdp === undefined || is.early === undefined) {
    const reason = "the PRACK has no answer to our offer"
    return [over, [ok, refusal(is, 400, "No answer to the offer in PRACK"), failed(reason)]]
  }
  const { accepting, early } = is
  const next = { ...is, early: { ...early, isAnswered: true }, accepting: undefined }
  const outputs = [ok, event({ _tag: "EarlyAnswered", sdp })]
  if (accepting === undefined) return stays(next, ...outputs)
  const [established, more] = answer(next, early.sdp, accepting.account, now)
  return [established, [...outputs, ...more]]
}

const pracked = (
  is: Inbound,
  request: Request,
  respond: (status: number, reason: string) => Output,
  now: number
): Step => {
  const rack = Message.header(request, "rack")?.trim().replace(/\s+/g, " ")
  if (rack === undefined || rack !== rackOf(is)) return stays(is, respond(481, "Call/Transaction Does Not Exist"))
  const next = { ...is, reliable: undefined, timers: without(is.timers, "repeat", "unconfirmed") }
  if (is.early === undefined) return stays(next, respond(200, "OK"))
  return earlyAnswered(next, Message.description(request), respond(200, "OK"), now)
}

/** A request of the peer before the answer. `cancels`: it is the CANCEL of the INVITE. */
export const request = (is: Inbound, received: Request, key: string, cancels: boolean, now: number): Step => {
  const respond = (status: number, reason: string, content?: Dialog.Content): Output => ({
    _tag: "Respond",
    key,
    response: Dialog.respond(received, status, reason, is.dialog.localTag, content)
  })
  if (cancels) return canceled(is, "the caller canceled", respond(200, "OK"))
  const dialog = Dialog.receive(is.dialog, received)
  if (dialog === "old") return stays(is, respond(500, "Server Internal Error"))
  const next = { ...is, dialog }
  switch (received.method) {
    case "BYE":
      return canceled(next, "the caller hung up", respond(200, "OK"))
    case "PRACK":
      return pracked(next, received, respond, now)
    case "UPDATE": {
      // The offer of the INVITE, or ours, has no answer yet, so there cannot be another (RFC 3311, 5.2).
      if (received.body.length === 0)
        return stays(next, respond(200, "OK", { headers: [{ name: "contact", value: is.contact }] }))
      if (is.early?.isAnswered === false) return stays(next, respond(491, "Request Pending"))
      const headers = [{ name: "retry-after", value: "2" }]
      return stays(next, respond(500, "Server Internal Error", { headers }))
    }
    case "INVITE":
      return stays(next, respond(500, "Server Internal Error", { headers: [{ name: "retry-after", value: "2" }] }))
    case "INFO":
      return stays(next, respond(200, "OK"))
    default:
      return stays(next, respond(481, "Call/Transaction Does Not Exist"))
  }
}

/**
 * A timer is due: the call was not answered in time, the invitation has expired, or the reliable response is repeated,
 * or given up (RFC 3262, 3).
 */
export const fire = (is: Inbound, timer: string, now: number): Step => {
  const rest = { ...is, timers: without(is.timers, timer) }
  const { reliable } = is
  if (timer === "unanswered") {
    const reason = `the call was not answered within ${unansweredMs / 1000} s`
    return [over, [refusal(is, 480, "Temporarily Unavailable"), failed(reason)]]
  }
  if (timer === "expired") return canceled(rest, "the invitation has expired, by Expires of the INVITE")
  if (reliable === undefined) return stays(rest)
  if (timer === "unconfirmed") {
    return [over, [refusal(is, 504, "Server Time-out"), failed("no PRACK came for 180")]]
  }
  const interval = reliable.interval * 2
  return stays(
    { ...rest, reliable: { ...reliable, interval }, timers: { ...rest.timers, repeat: now + interval } },
    { _tag: "Respond", key: is.key, response: reliable.response }
  )
}

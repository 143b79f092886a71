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
}

/** The call goes on as inbound, is answered, or is over. */
export type Next =
  | { readonly _tag: "Inbound"; readonly is: Inbound }
  | { readonly _tag: "Established"; readonly is: Established.Established }
  | { readonly _tag: "Over" }

export type Step = readonly [Next, ReadonlyArray<Output>]

export type Command =
  | { readonly _tag: "Ring" }
  /** `account`: what the caller's trunk knows us by, for its challenges to requests of ours. */
  | { readonly _tag: "Answer"; readonly sdp: Uint8Array; readonly account?: Account | undefined }
  /** `warning`: the value of Warning (RFC 3261, 20.43). */
  | { readonly _tag: "Reject"; readonly status: number; readonly reason: string; readonly warning?: string }

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
    isRinging: false
  }
  if (SessionTimer.answered(invite) === "tooSmall") {
    const headers = [{ name: "min-se", value: String(SessionTimer.leastSeconds) }]
    return [over, [refusal(is, 422, "Session Interval Too Small", { headers })]]
  }
  return stays(is, refusal(is, 100, "Trying"))
}

const ring = (is: Inbound, now: number): Step => {
  if (is.isRinging) return stays(is)
  const isReliable = Message.tokens(is.invite, "require").includes("100rel")
  const contact = { name: "contact", value: is.contact }
  if (!isReliable) return stays({ ...is, isRinging: true }, refusal(is, 180, "Ringing", { headers: [contact] }))
  const number = is.number + 1
  const headers = [contact, { name: "require", value: "100rel" }, { name: "rseq", value: String(number) }]
  const response = reply(is, 180, "Ringing", { headers })
  const { t1 } = is.timing
  const timers = { ...is.timers, repeat: now + t1, unconfirmed: now + 64 * t1 }
  const next: Inbound = { ...is, isRinging: true, number, reliable: { response, number, interval: t1 }, timers }
  return stays(next, { _tag: "Respond", key: is.key, response })
}

/** The RAck of the PRACK that is waited for (RFC 3262, 7.2). */
const rackOf = ({ invite, reliable }: Inbound): string | undefined =>
  reliable === undefined ? undefined : `${reliable.number} ${Message.cseq(invite)?.number} INVITE`

const answer = (is: Inbound, sdp: Uint8Array, account: Account | undefined, now: number): Step => {
  const asked = SessionTimer.answered(is.invite)
  const timer = asked === "tooSmall" ? undefined : asked
  const supported = Message.tokens(is.invite, "supported")
  const response = reply(is, 200, "OK", {
    headers: [
      { name: "contact", value: is.contact },
      { name: "allow", value: methods.join(", ") },
      { name: "supported", value: "timer, 100rel" },
      ...SessionTimer.headersOf(timer, supported.includes("timer")),
      { name: "content-type", value: "application/sdp" }
    ],
    body: sdp
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
  if (given._tag === "Ring") return ring(is, now)
  if (given._tag === "Answer") return answer(is, given.sdp, given.account, now)
  return [over, [refusal(is, given.status, given.reason, warned(given.warning))]]
}

const canceled = (is: Inbound, reason: string, ...outputs: ReadonlyArray<Output>): Step => [
  over,
  [...outputs, refusal(is, 487, "Request Terminated"), event({ _tag: "Canceled", reason })]
]

const pracked = (is: Inbound, request: Request, respond: (status: number, reason: string) => Output): Step => {
  const rack = Message.header(request, "rack")?.trim().replace(/\s+/g, " ")
  if (rack === undefined || rack !== rackOf(is)) return stays(is, respond(481, "Call/Transaction Does Not Exist"))
  return stays({ ...is, reliable: undefined, timers: without(is.timers, "repeat", "unconfirmed") }, respond(200, "OK"))
}

/** A request of the peer before the answer. `cancels`: it is the CANCEL of the INVITE. */
export const request = (is: Inbound, received: Request, key: string, cancels: boolean): Step => {
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
      return pracked(next, received, respond)
    case "UPDATE": {
      // The offer of the INVITE has no answer yet, so there cannot be another (RFC 3311, 5.2).
      if (received.body.length === 0)
        return stays(next, respond(200, "OK", { headers: [{ name: "contact", value: is.contact }] }))
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

/** A timer is due: the call was not answered in time, the invitation has expired, or the reliable response is repeated, or given up (RFC 3262, 3). */
export const fire = (is: Inbound, timer: string, now: number): Step => {
  const rest = { ...is, timers: without(is.timers, timer) }
  const { reliable } = is
  if (timer === "unanswered") {
    const reason = `the call was not answered within ${unansweredMs / 1000} s`
    return [over, [refusal(is, 480, "Temporarily Unavailable"), event({ _tag: "Canceled", reason })]]
  }
  if (timer === "expired") return canceled(rest, "the invitation has expired, by Expires of the INVITE")
  if (reliable === undefined) return stays(rest)
  if (timer === "unconfirmed") {
    return [over, [refusal(is, 504, "Server Time-out"), event({ _tag: "Canceled", reason: "no PRACK came for 180" })]]
  }
  const interval = reliable.interval * 2
  return stays(
    { ...rest, reliable: { ...reliable, interval }, timers: { ...rest.timers, repeat: now + interval } },
    { _tag: "Respond", key: is.key, response: reliable.response }
  )
}

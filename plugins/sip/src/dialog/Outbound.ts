import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { type Timers, type Timing, without } from "../transaction/Timing.ts"
import { type Account, authorized, credentialsOf, noCredentials, type SentCredentials } from "./Account.ts"
import * as Dialog from "./Dialog.ts"
import * as EarlyDialogs from "./EarlyDialogs.ts"
import * as Established from "./Established.ts"
import { event, type Output, warned } from "./Output.ts"
import * as SessionTimer from "./SessionTimer.ts"

/** An INVITE of ours that was not answered yet. */
export interface Outbound {
  /** The INVITE as it was sent last, without Via. */
  readonly invite: Request
  /** The id of its transaction. */
  readonly id: string
  readonly contact: string
  readonly account: Account | undefined
  readonly credentials: SentCredentials
  /** Whether the call can go another way, when no server answers. */
  readonly hasAlternative: boolean
  readonly timing: Timing
  readonly salt: string
  readonly timers: Timers
  /** A provisional response has come, so the INVITE can be canceled (RFC 3261, 9.1). */
  readonly isProceeding: boolean
  /** `asked`: cancel as soon as that is possible. `sent`: CANCEL was sent. */
  readonly canceling: "no" | "asked" | "sent"
  /** The dialogs of provisional responses by the peer's tag. */
  readonly early: EarlyDialogs.EarlyDialogs
  /** An UPDATE of the peer with an offer that was not answered yet. */
  readonly offered: { readonly key: string; readonly request: Request } | undefined
  /** Our last description. */
  readonly sdp: Uint8Array
}

export type Next =
  | { readonly _tag: "Outbound"; readonly is: Outbound }
  | { readonly _tag: "Established"; readonly is: Established.Established }
  | { readonly _tag: "Over" }

export type Step = readonly [Next, ReadonlyArray<Output>]

const over: Next = { _tag: "Over" }

const stays = (is: Outbound, ...outputs: ReadonlyArray<Output>): Step => [{ _tag: "Outbound", is }, outputs]

/** Sends the INVITE, which has all headers but Via, among them Contact and an offer as its body. */
export const start = (
  given: Pick<Outbound, "invite" | "contact" | "account" | "hasAlternative" | "timing" | "salt">
): Step => {
  const is: Outbound = {
    ...given,
    id: "INVITE-0",
    credentials: noCredentials,
    timers: {},
    isProceeding: false,
    canceling: "no",
    early: [],
    offered: undefined,
    sdp: given.invite.body
  }
  return stays(is, { _tag: "Request", id: is.id, request: is.invite, hasAlternative: is.hasAlternative })
}

const refused = (status: number, reason: string): Step => [over, [event({ _tag: "Refused", status, reason })]]

/** How long a canceled INVITE may take to end, in T1 (RFC 3261, 9.1). */
const cancelTimeout = 64

/** Gives up: the phone stops to ring. */
export const cancel = (is: Outbound, now: number): Step => {
  if (is.canceling !== "no") return stays(is)
  if (!is.isProceeding) return stays({ ...is, canceling: "asked" })
  const timers = { ...is.timers, gone: now + cancelTimeout * is.timing.t1 }
  return stays({ ...is, canceling: "sent", timers }, { _tag: "Cancel", id: is.id })
}

const again = (is: Outbound, invite: Request, credentials = is.credentials): Step => {
  const number = Message.cseq(invite)?.number ?? 0
  const id = `INVITE-${number}`
  return stays(
    { ...is, invite, id, credentials, isProceeding: false, early: [], offered: undefined },
    { _tag: "Request", id, request: invite }
  )
}

const proceeded = (is: Outbound, response: Response, now: number): Step => {
  const proceeding = { ...is, isProceeding: true }
  if (is.canceling === "asked") return cancel({ ...proceeding, canceling: "no" }, now)
  if (response.status === 100 || Message.tag(response, "to") === undefined) return stays(proceeding)
  const taken = EarlyDialogs.received(is.early, is.invite, response)
  if (taken === "drop") return stays(proceeding)
  const { early, isRepeated, outputs } = taken
  const next = { ...proceeding, early }
  if (is.canceling === "sent" || isRepeated) return stays(next, ...outputs)
  const sdp = Message.description(response)
  return stays(next, ...outputs, event({ _tag: "Ringing", status: response.status, sdp }))
}

/** A response to a PRACK: a challenge gets credentials. A PRACK that fails changes nothing else: the peer repeats or gives up. */
const pracked = (is: Outbound, sent: Request, received: Response): Step => {
  const known = EarlyDialogs.ofSent(is.early, sent)
  const { status } = received
  if (status < 300 || known === undefined) return stays(is)
  const number = known.dialog.localNumber + 1
  const isChallenged = status === 401 || status === 407
  const authenticated = isChallenged ? authorized(is, sent, received, number) : undefined
  if (authenticated === undefined) return stays({ ...is, early: EarlyDialogs.prackFailed(is.early, sent) })
  const [request, credentials] = authenticated
  const early = EarlyDialogs.updated(is.early, { ...known, dialog: { ...known.dialog, localNumber: number } })
  return stays({ ...is, early, credentials }, { _tag: "Request", id: `PRACK-${number}`, request })
}

/** An unwanted dialog is acknowledged and ended at once. */
export const declined = (invite: Request, response: Response, reason: string): ReadonlyArray<Output> => {
  const dialog = Dialog.ofResponse(invite, response)
  const ack = Dialog.ack(dialog, Message.cseq(response)?.number ?? 0, { headers: credentialsOf(invite) })
  const headers = [{ name: "reason", value: `SIP;cause=${reason === "fork" ? 200 : 487};text="${reason}"` }]
  const [, bye] = Dialog.request(dialog, "BYE", { headers })
  return [
    { _tag: "Request", id: "ACK", request: ack, isUnwanted: true },
    { _tag: "Request", id: "BYE", request: bye, isUnwanted: true }
  ]
}

const succeeded = (is: Outbound, response: Response, now: number): Step => {
  if (is.canceling !== "no") {
    return [
      over,
      [...declined(is.invite, response, "canceled"), event({ _tag: "Refused", status: 487, reason: "canceled" })]
    ]
  }
  const early = is.early.find(({ dialog }) => dialog.remoteTag === Message.tag(response, "to"))
  const sdp = Message.description(response) ?? early?.sdp
  if (sdp === undefined) {
    return [
      over,
      [
        ...declined(is.invite, response, "no answer to the offer"),
        event({ _tag: "Refused", status: response.status, reason: "no session description" })
      ]
    ]
  }
  const fresh = Dialog.ofResponse(is.invite, response)
  const dialog = { ...fresh, localNumber: Math.max(fresh.localNumber, early?.dialog.localNumber ?? 0) }
  const ack = Dialog.ack(dialog, Message.cseq(is.invite)?.number ?? 0, { headers: credentialsOf(is.invite) })
  const established = Established.confirmed(
    {
      dialog,
      contact: is.contact,
      account: is.account,
      credentials: is.credentials,
      timing: is.timing,
      salt: is.salt,
      timer: SessionTimer.agreed(response),
      minSe: SessionTimer.leastIn(is.invite),
      takesUpdate: Message.tokens(response, "allow").includes("update"),
      takesRefer: Message.tokens(response, "allow").includes("refer"),
      takesReplaces: Message.tokens(response, "supported").includes("replaces"),
      sdp: is.sdp,
      rack: undefined
    },
    ack,
    now
  )
  return [
    { _tag: "Established", is: established },
    [{ _tag: "Request", id: "ACK", request: ack }, event({ _tag: "Answered", sdp, headers: response.headers })]
  ]
}

/** A response to the INVITE. */
export const response = (is: Outbound, sent: Request, received: Response, now: number): Step => {
  const { reason, status } = received
  if (sent.method === "PRACK") return pracked(is, sent, received)
  if (sent.method !== "INVITE" || Message.cseq(sent)?.number !== Message.cseq(is.invite)?.number) return stays(is)
  if (status < 200) return proceeded(is, received, now)
  if (status < 300) return succeeded(is, received, now)
  const number = (Message.cseq(is.invite)?.number ?? 0) + 1
  if ((status === 401 || status === 407) && is.canceling === "no") {
    const authenticated = authorized(is, is.invite, received, number)
    if (authenticated !== undefined) return again(is, ...authenticated)
  }
  const longer = is.canceling === "no" ? SessionTimer.lengthened(is.invite, received, number) : undefined
  if (longer !== undefined) return again(is, longer)
  return refused(status, reason)
}

/** A request of the peer in an early dialog. */
export const request = (is: Outbound, received: Request, key: string): Step => {
  const respond = (status: number, reason: string, content?: Dialog.Content): Output => ({
    _tag: "Respond",
    key,
    response: Dialog.respond(received, status, reason, Message.tag(is.invite, "from") ?? "", content)
  })
  if (received.method === "UPDATE" && received.body.length === 0) {
    return stays(is, respond(200, "OK", { headers: [{ name: "contact", value: is.contact }] }))
  }
  if (received.method === "UPDATE") {
    const tag = Message.tag(received, "from") ?? ""
    const early = is.early.find(({ dialog }) => dialog.remoteTag === tag)
    // Another offer needs the answer to ours, which counts in a reliable response alone (RFC 3311, 5.2).
    const isComplete = early?.number !== undefined && early.sdp !== undefined
    if (!isComplete || is.offered !== undefined) return stays(is, respond(491, "Request Pending"))
    return stays({ ...is, offered: { key, request: received } }, event({ _tag: "Offered", key, sdp: received.body }))
  }
  if (received.method === "INFO") return stays(is, respond(200, "OK"))
  return stays(is, respond(481, "Call/Transaction Does Not Exist"))
}

/**
 * Answers the offer of an UPDATE: `sdp` is our description; undefined: it is declined with 488 and this warning, and nothing
 * changes.
 */
export const answer = (is: Outbound, key: string, sdp: Uint8Array | undefined, warning?: string): Step => {
  const { offered } = is
  if (offered === undefined || offered.key !== key) return stays(is)
  const tag = Message.tag(is.invite, "from") ?? ""
  const { request: received } = offered
  const settled = { ...is, offered: undefined }
  if (sdp === undefined) {
    const response = Dialog.respond(received, 488, "Not Acceptable Here", tag, warned(warning))
    return stays(settled, { _tag: "Respond", key, response })
  }
  const headers = [
    { name: "contact", value: is.contact },
    { name: "content-type", value: "application/sdp" }
  ]
  // A 200 without a description confirms this one, and no longer the answer before it.
  const early = is.early.map((each) =>
    each.dialog.remoteTag === Message.tag(received, "from") ? { ...each, sdp: received.body } : each
  )
  const response = Dialog.respond(received, 200, "OK", tag, { headers, body: sdp })
  return stays({ ...settled, early, sdp }, { _tag: "Respond", key, response })
}

/** No response came to the INVITE, or to a PRACK. */
export const failed = (is: Outbound, sent: Request, reason: "timeout" | "transport"): Step => {
  if (sent.method === "PRACK") return stays({ ...is, early: EarlyDialogs.prackFailed(is.early, sent) })
  if (sent.method !== "INVITE") return stays(is)
  const [status, text] =
    reason === "timeout" ? ([408, "no response to INVITE"] as const) : ([503, "the INVITE could not be sent"] as const)
  return [over, [event({ _tag: "Refused", status, reason: text, isUnreached: !is.isProceeding })]]
}

/** The canceled INVITE has not ended. */
export const fire = (is: Outbound, timer: string): Step =>
  timer === "gone" ? refused(487, "canceled") : stays({ ...is, timers: without(is.timers, timer) })

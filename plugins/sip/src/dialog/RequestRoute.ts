import type { Headers, Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as Replaces from "../message/Replaces.ts"
import { methods, refusalOf } from "../message/RequestCheck.ts"
import type { CallTable } from "./CallTable.ts"

/** What is done with a request of a peer. */
export type RequestRoute =
  | { readonly _tag: "Respond"; readonly status: number; readonly reason: string; readonly headers: Headers }
  /** It is for this call. `cancels`: it is the CANCEL of its INVITE. */
  | { readonly _tag: "Call"; readonly call: string; readonly cancels: boolean }
  /** It is an INVITE that begins a call. */
  | { readonly _tag: "Begin" }

const respond = (status: number, reason: string, headers: Headers = []): RequestRoute => ({
  _tag: "Respond",
  status,
  reason,
  headers
})

const unknown = respond(481, "Call/Transaction Does Not Exist")

/** Whether a request has the peer's tag of a call, once that is known. */
export const isFromPeerOf = (calls: CallTable, id: string, request: Request): boolean => {
  const entry = calls.get(id)
  if (entry?.call._tag === "Established" || entry?.call._tag === "Inbound") {
    return entry.call.is.dialog.remoteTag === (Message.tag(request, "from") ?? "")
  }
  return entry !== undefined
}

const ofInvite = (calls: CallTable, invite: Request): RequestRoute => {
  const contacts = Message.addresses(invite, "contact")
  if (contacts === undefined || contacts.length === 0) return respond(400, "There is no header contact with an address")
  // The same request over two ways (RFC 3261, 8.2.2.2).
  if (calls.isMerged(invite)) return respond(482, "Loop Detected")
  const replaces = Replaces.of(invite)
  if (replaces === undefined) return { _tag: "Begin" }
  if (replaces === "malformed") return respond(400, "Malformed Replaces")
  // No call of ours is given to another phone; one that is not there has 481 (RFC 3891, 3).
  return calls.hasDialog(replaces.callId, replaces.toTag) ? respond(603, "Decline") : unknown
}

/** Where a request goes that begins a transaction. `cancels`: the key of the INVITE that a CANCEL is for. */
export const routeOf = (request: Request, cancels: string | undefined, calls: CallTable): RequestRoute => {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return respond(refusal.status, refusal.reason, refusal.headers)
  if (request.method === "CANCEL") {
    if (cancels === undefined) return unknown
    const call = calls.ofInvite(cancels)
    return call === undefined ? respond(200, "OK") : { _tag: "Call", call, cancels: true }
  }
  if (Message.tag(request, "to") !== undefined) {
    const call = calls.ofDialog(request, "to")
    return call !== undefined && isFromPeerOf(calls, call, request) ? { _tag: "Call", call, cancels: false } : unknown
  }
  switch (request.method) {
    case "INVITE":
      return ofInvite(calls, request)
    case "OPTIONS":
      return respond(200, "OK", [
        { name: "allow", value: methods.join(", ") },
        { name: "accept", value: "application/sdp" },
        { name: "supported", value: "timer, 100rel" }
      ])
    case "REFER":
      // A peer must not make us call others (RFC 3515, 2.4.2).
      return respond(603, "Decline")
    default:
      return unknown
  }
}

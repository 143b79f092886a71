import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { next as nextTimer, type Timers } from "../transaction/Timing.ts"
import * as Dialog from "./Dialog.ts"
import type * as Established from "./Established.ts"
import * as EstablishedCommands from "./EstablishedCommands.ts"
import * as EstablishedTimers from "./EstablishedTimers.ts"
import * as Inbound from "./Inbound.ts"
import * as Outbound from "./Outbound.ts"
import type { Output } from "./Output.ts"
import * as OwnRequests from "./OwnRequests.ts"
import * as PeerRequests from "./PeerRequests.ts"

/** A call from INVITE to BYE. */
export type Call =
  | { readonly _tag: "Inbound"; readonly is: Inbound.Inbound }
  | { readonly _tag: "Outbound"; readonly is: Outbound.Outbound }
  | { readonly _tag: "Established"; readonly is: Established.Established }
  | { readonly _tag: "Over" }

/** What the shell can ask of a call. */
export type Command = Inbound.Command | EstablishedCommands.Command

export type Step = readonly [Call, ReadonlyArray<Output>]

/** What happens to a call. `key` is that of a server transaction. */
export type Input =
  | { readonly _tag: "Request"; readonly request: Request; readonly key: string; readonly cancels: boolean }
  | { readonly _tag: "Ack"; readonly request: Request }
  /** `sent` is the request of ours that is answered. */
  | { readonly _tag: "Response"; readonly sent: Request; readonly response: Response }
  | { readonly _tag: "Failed"; readonly sent: Request; readonly reason: "timeout" | "transport" }
  | { readonly _tag: "Command"; readonly command: Command }

const none: ReadonlyArray<Output> = []

const established = ([is, outputs]: Established.Step): Step => [
  is.state === "ended" ? { _tag: "Over" } : { _tag: "Established", is },
  outputs
]

const gone = (request: Request, key: string, localTag: string): Output => ({
  _tag: "Respond",
  key,
  response: Dialog.respond(request, 481, "Call/Transaction Does Not Exist", localTag)
})

const inbound = (is: Inbound.Inbound, input: Input, now: number): Step => {
  if (input._tag === "Request") return Inbound.request(is, input.request, input.key, input.cancels, now)
  if (input._tag !== "Command") return [{ _tag: "Inbound", is }, none]
  const { command } = input
  if (command._tag === "Ring" || command._tag === "Answer" || command._tag === "Reject") {
    return Inbound.command(is, command, now)
  }
  return command._tag === "Hangup"
    ? Inbound.command(is, { _tag: "Reject", status: 480, reason: "Temporarily Unavailable" }, now)
    : [{ _tag: "Inbound", is }, none]
}

const outbound = (is: Outbound.Outbound, input: Input, now: number): Step => {
  if (input._tag === "Request") return Outbound.request(is, input.request, input.key)
  if (input._tag === "Response") return Outbound.response(is, input.sent, input.response, now)
  if (input._tag === "Failed") return Outbound.failed(is, input.sent, input.reason)
  if (input._tag !== "Command") return [{ _tag: "Outbound", is }, none]
  const { command } = input
  if (command._tag === "Accept") return Outbound.answer(is, command.key, command.sdp)
  if (command._tag === "Decline") return Outbound.answer(is, command.key, undefined, command.warning)
  return command._tag === "Hangup" ? Outbound.cancel(is, now) : [{ _tag: "Outbound", is }, none]
}

/** A 2xx to our INVITE after the first: repeated, or of another phone (RFC 3261, 13.2.2.4). */
const laterSuccess = (is: Established.Established, sent: Request, response: Response): ReadonlyArray<Output> => {
  if (Message.tag(response, "to") !== is.dialog.remoteTag) return Outbound.declined(sent, response, "fork")
  const isAcknowledged = is.ack !== undefined && Message.cseq(is.ack)?.number === Message.cseq(response)?.number
  return is.ack !== undefined && isAcknowledged ? [{ _tag: "Request", id: "ACK", request: is.ack }] : none
}

const answered = (is: Established.Established, input: Input, now: number): Step => {
  if (input._tag === "Ack") return established(PeerRequests.acknowledged(is, input.request))
  if (input._tag === "Failed") return established(OwnRequests.failed(is, input.sent, input.reason))
  if (input._tag === "Request") {
    // A CANCEL that crossed our answer has no effect (RFC 3261, 9.2).
    if (input.cancels) {
      const response = Dialog.respond(input.request, 200, "OK", is.dialog.localTag)
      return [{ _tag: "Established", is }, [{ _tag: "Respond", key: input.key, response }]]
    }
    return established(PeerRequests.request(is, input.request, input.key, now))
  }
  if (input._tag === "Response") {
    const { response, sent } = input
    const isSuccess = sent.method === "INVITE" && response.status >= 200 && response.status < 300
    if (isSuccess && !is.isRefreshing) return [{ _tag: "Established", is }, laterSuccess(is, sent, response)]
    return established(OwnRequests.response(is, sent, response, now))
  }
  const { command } = input
  return command._tag === "Ring" || command._tag === "Answer" || command._tag === "Reject"
    ? [{ _tag: "Established", is }, none]
    : established(EstablishedCommands.command(is, command, now))
}

/** The next state of a call, and what it requests. `now` is a time in ms. */
export const step = (call: Call, input: Input, now: number): Step => {
  switch (call._tag) {
    case "Inbound":
      return inbound(call.is, input, now)
    case "Outbound":
      return outbound(call.is, input, now)
    case "Established":
      return answered(call.is, input, now)
    case "Over":
      return [call, input._tag === "Request" ? [gone(input.request, input.key, "")] : none]
  }
}

const timersOf = (call: Call): Timers => (call._tag === "Over" ? {} : call.is.timers)

/** When the call has something to do, in ms; infinite: never. */
export const dueAt = (call: Call): number => nextTimer(timersOf(call))?.at ?? Number.POSITIVE_INFINITY

/** Fires the timer that is due. */
export const advance = (call: Call, now: number): Step => {
  const due = nextTimer(timersOf(call))
  if (call._tag === "Over" || due === undefined || due.at > now) return [call, none]
  if (call._tag === "Inbound") return Inbound.fire(call.is, due.name, now)
  if (call._tag === "Outbound") return Outbound.fire(call.is, due.name)
  return established(EstablishedTimers.fire(call.is, due.name, now))
}

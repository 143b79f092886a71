import type { KeyObject } from "node:crypto"
import type { Host } from "@svc/providers/Host"
import type { IncomingSms } from "@svc/providers/Messaging"
import type { RouteRequest, RouteResponse } from "@svc/providers/Route"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Clock, Effect, Option } from "effect"
import type { CallNetwork } from "./CallNetwork.ts"
import * as IncomingCalls from "./IncomingCalls.ts"
import { SeenEvents } from "./SeenEvents.ts"
import { problemOf } from "./Signature.ts"
import type { CallOptions } from "./TelnyxCall.ts"
import { eventOf, stateOf, type WebhookEvent } from "./WebhookEvent.ts"

const answer = (status: number, message: string): RouteResponse => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: message
})
const taken: RouteResponse = answer(200, "ok")

/** Calls of earlier processes, and late webhooks of those that are over. */
type CallEvent = Extract<WebhookEvent, { readonly _tag: "Call" }>

/**
 * Takes the webhooks. Telnyx sends them more than once and in any order: an event counts once, by its id, and a call that
 * has ended does not begin again. One without a valid signature is refused with 403 and changes nothing; a signed event
 * that cannot be used gets 200, because Telnyx would only send it again.
 */
export const make = (options: {
  readonly key: KeyObject
  readonly network: CallNetwork
  readonly isAlive: CallOptions["isAlive"]
  readonly log: Host["log"]
  readonly onRefused: () => void
  readonly offerCall: (call: IncomingCall) => void
  readonly offerSms: (sms: IncomingSms) => void
}): ((request: RouteRequest) => Effect.Effect<RouteResponse>) => {
  const { key, log, network } = options
  const events = new SeenEvents()
  /** Calls that have begun or ended here. */
  const calls = new SeenEvents()
  const messages = new SeenEvents()

  const onCall = ({ payload, type }: CallEvent): void => {
    const { byId, bySession, byState } = network.listeners
    const id = payload.call_control_id
    // A leg without a state that shares the session of a call is the destination of its transfer.
    const transfer = calls.has(id) ? undefined : bySession.get(payload.call_session_id ?? "")
    const listener = byId.get(id) ?? byState.get(stateOf(payload)) ?? transfer
    if (listener !== undefined) {
      listener.onWebhook(type, payload)
      return
    }
    const isOurs = payload.direction === "outgoing"
    if (type === "call.hangup") calls.add(id)
    if (type !== "call.initiated" || isOurs || !calls.add(id)) return
    IncomingCalls.take(network, options.isAlive, payload, options.offerCall)
  }

  const onEvent = (event: WebhookEvent): void => {
    if (event._tag === "Other") return
    if (event._tag === "Incomplete") {
      log.warning(`Telnyx sent ${event.type} without what is needed to act on it: the event is ignored`)
      return
    }
    if (event.id !== "" && !events.add(event.id)) return
    if (event._tag === "Call") {
      onCall(event)
      return
    }
    const { from, text, to } = event.payload
    const id = event.payload.id ?? event.id
    const receiver = to.find((party) => party !== null)
    if (receiver === undefined || receiver === null || id === "" || !messages.add(id)) return
    options.offerSms({ id, from: from.phone_number, to: receiver.phone_number, message: text ?? "" })
  }

  return (request) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const problem = problemOf(key, request, now)
      if (problem !== undefined) {
        options.onRefused()
        log.warning(`a webhook was refused: ${problem}`)
        return answer(403, problem)
      }
      const event = eventOf(request.body)
      if (Option.isNone(event)) return answer(400, "the body is no event of Telnyx (API version 2)")
      onEvent(event.value)
      return taken
    })
}

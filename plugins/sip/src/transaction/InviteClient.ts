import * as Message from "../message/Message.ts"
import { noBody, type Request, type Response } from "../message/Message.ts"
import { without } from "./Timing.ts"
import { type ClientTransaction, isProvisional, isSuccess, nothing, type Setting, type Step } from "./Transaction.ts"

/**
 * The client transaction of INVITE (RFC 3261, 17.1.1, with RFC 6026):
 *
 * | state      | input         | next       | outputs                     |
 * | ---------- | ------------- | ---------- | --------------------------- |
 * | calling    | timer A       | calling    | send INVITE, A doubles      |
 * | calling    | timer B       | terminated | failed                      |
 * | calling    | 1xx           | proceeding | received                    |
 * | proceeding | 1xx           | proceeding | received                    |
 * | either     | 2xx           | accepted   | received, timer M           |
 * | either     | 300–699       | completed  | send ACK, received, timer D |
 * | accepted   | 2xx           | accepted   | received                    |
 * | completed  | 300–699       | completed  | send ACK                    |
 * | accepted   | timer M       | terminated |                             |
 * | completed  | timer D       | terminated |                             |
 * | calling    | timer gone    | terminated |                             |
 * | proceeding | timer gone    | terminated |                             |
 */
export const start = (request: Request, setting: Setting, now: number): Step<ClientTransaction> => {
  const { answerWithin, reliable, timing } = setting
  const timers = { B: now + (answerWithin ?? 64 * timing.t1), ...(reliable ? {} : { A: now + timing.t1 }) }
  return [{ ...setting, state: "calling", request, timers, interval: timing.t1 }, [{ _tag: "Send", message: request }]]
}

/** The ACK of a response that is no 2xx: part of the transaction (RFC 3261, 17.1.1.3). */
const ackOf = (request: Request, response: Response): Request => ({
  _tag: "Request",
  method: "ACK",
  uri: request.uri,
  headers: [
    { name: "via", value: Message.header(request, "via") ?? "" },
    ...request.headers.filter(({ name }) => name === "route"),
    { name: "from", value: Message.header(request, "from") ?? "" },
    { name: "to", value: Message.header(response, "to") ?? "" },
    { name: "call-id", value: Message.callId(request) },
    { name: "cseq", value: `${Message.cseq(request)?.number ?? 1} ACK` },
    { name: "max-forwards", value: "70" }
  ],
  body: noBody
})

export const receive = (is: ClientTransaction, response: Response, now: number): Step<ClientTransaction> => {
  const { reliable, request, state, timing } = is
  const isOpen = state === "calling" || state === "proceeding"
  if (isProvisional(response)) {
    const { gone } = is.timers
    const timers = gone === undefined ? {} : { gone }
    return isOpen ? [{ ...is, state: "proceeding", timers }, [{ _tag: "Received", response }]] : [is, nothing]
  }
  if (isSuccess(response)) {
    if (isOpen) {
      return [{ ...is, state: "accepted", timers: { M: now + 64 * timing.t1 } }, [{ _tag: "Received", response }]]
    }
    return [is, state === "accepted" ? [{ _tag: "Received", response }] : nothing]
  }
  const ack = { _tag: "Send", message: ackOf(request, response) } as const
  if (!isOpen) return [is, state === "completed" ? [ack] : nothing]
  const timers = { D: reliable ? now : now + 64 * timing.t1 }
  return [{ ...is, state: "completed", timers }, [ack, { _tag: "Received", response }]]
}

/** Nobody waits for the final response any more: the transaction ends without one after 64 T1 (RFC 3261, 9.1). */
export const abandon = (is: ClientTransaction, now: number): Step<ClientTransaction> => {
  const isOpen = is.state === "calling" || is.state === "proceeding"
  if (!isOpen || is.timers["gone"] !== undefined) return [is, nothing]
  return [{ ...is, timers: { ...is.timers, gone: now + 64 * is.timing.t1 } }, nothing]
}

export const fire = (is: ClientTransaction, timer: string, now: number): Step<ClientTransaction> => {
  if (timer === "A" && is.state === "calling") {
    const interval = is.interval * 2
    return [{ ...is, interval, timers: { ...is.timers, A: now + interval } }, [{ _tag: "Send", message: is.request }]]
  }
  if (timer === "B" && is.state === "calling") {
    return [{ ...is, state: "terminated", timers: {} }, [{ _tag: "Failed", reason: "timeout" }]]
  }
  const timers = without(is.timers, timer)
  return [
    timer === "D" || timer === "M" || timer === "gone" ? { ...is, state: "terminated", timers } : { ...is, timers },
    nothing
  ]
}

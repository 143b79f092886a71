import type { Request, Response } from "../message/Message.ts"
import { without } from "./Timing.ts"
import { isProvisional, isSuccess, nothing, type ServerTransaction, type Setting, type Step } from "./Transaction.ts"

/**
 * The server transaction of INVITE (RFC 3261, 17.2.1, with RFC 6026):
 *
 * | state      | input            | next       | outputs                              |
 * | ---------- | ---------------- | ---------- | ------------------------------------ |
 * | proceeding | INVITE again     | proceeding | send the last response               |
 * | proceeding | respond 1xx      | proceeding | send                                 |
 * | proceeding | respond 2xx      | accepted   | send, timer L                        |
 * | proceeding | respond 300–699  | completed  | send, timers G and H                 |
 * | completed  | INVITE again     | completed  | send the last response               |
 * | completed  | timer G          | completed  | send the last response, G doubles    |
 * | completed  | ACK              | confirmed  | timer I                              |
 * | completed  | timer H          | terminated | failed                               |
 * | accepted   | INVITE again     | accepted   |                                      |
 * | accepted   | respond 2xx      | accepted   | send (the call repeats its 2xx)      |
 * | accepted   | timer L          | terminated |                                      |
 * | confirmed  | timer I          | terminated |                                      |
 */
export const start = (request: Request, setting: Setting): ServerTransaction => ({
  ...setting,
  state: "proceeding",
  request,
  timers: {},
  interval: setting.timing.t1,
  response: undefined
})

/** The same INVITE again, or its ACK. The ACK of a 2xx is no part of the transaction, and does not come here. */
export const receive = (is: ServerTransaction, request: Request, now: number): Step<ServerTransaction> => {
  const { reliable, response, state, timing } = is
  if (request.method === "ACK") {
    if (state !== "completed") return [is, nothing]
    return [{ ...is, state: "confirmed", timers: { I: reliable ? now : now + timing.t4 } }, nothing]
  }
  const repeats = (state === "proceeding" || state === "completed") && response !== undefined
  return [is, repeats ? [{ _tag: "Send", message: response }] : nothing]
}

export const respond = (is: ServerTransaction, response: Response, now: number): Step<ServerTransaction> => {
  const { reliable, state, timing } = is
  const send = [{ _tag: "Send", message: response }] as const
  if (state === "accepted") return [is, isSuccess(response) ? send : nothing]
  if (state !== "proceeding") return [is, nothing]
  if (isProvisional(response)) return [{ ...is, response }, send]
  if (isSuccess(response)) return [{ ...is, response, state: "accepted", timers: { L: now + 64 * timing.t1 } }, send]
  const timers = { H: now + 64 * timing.t1, ...(reliable ? {} : { G: now + timing.t1 }) }
  return [{ ...is, response, state: "completed", timers }, send]
}

export const fire = (is: ServerTransaction, timer: string, now: number): Step<ServerTransaction> => {
  if (timer === "G" && is.state === "completed" && is.response !== undefined) {
    const interval = Math.min(is.interval * 2, is.timing.t2)
    return [{ ...is, interval, timers: { ...is.timers, G: now + interval } }, [{ _tag: "Send", message: is.response }]]
  }
  if (timer === "H" && is.state === "completed") {
    return [{ ...is, state: "terminated", timers: {} }, [{ _tag: "Failed", reason: "timeout" }]]
  }
  const timers = without(is.timers, timer)
  return [timer === "L" || timer === "I" ? { ...is, state: "terminated", timers } : { ...is, timers }, nothing]
}

import type { Request, Response } from "../message/Message.ts"
import { without } from "./Timing.ts"
import { type ClientTransaction, isProvisional, nothing, type Setting, type Step } from "./Transaction.ts"

/**
 * The client transaction of requests that are no INVITE (RFC 3261, 17.1.2):
 *
 * | state      | input    | next       | outputs                            |
 * | ---------- | -------- | ---------- | ---------------------------------- |
 * | trying     | timer E  | trying     | send, E doubles, at most T2        |
 * | proceeding | timer E  | proceeding | send, E is T2                      |
 * | either     | timer F  | terminated | failed                             |
 * | either     | 1xx      | proceeding | received                           |
 * | either     | 200–699  | completed  | received, timer K                  |
 * | completed  | timer K  | terminated |                                    |
 */
export const start = (request: Request, setting: Setting, now: number): Step<ClientTransaction> => {
  const { answerWithin, reliable, timing } = setting
  const timers = { F: now + (answerWithin ?? 64 * timing.t1), ...(reliable ? {} : { E: now + timing.t1 }) }
  return [{ ...setting, state: "trying", request, timers, interval: timing.t1 }, [{ _tag: "Send", message: request }]]
}

export const receive = (is: ClientTransaction, response: Response, now: number): Step<ClientTransaction> => {
  const { reliable, state, timing } = is
  if (state !== "trying" && state !== "proceeding") return [is, nothing]
  if (isProvisional(response)) return [{ ...is, state: "proceeding" }, [{ _tag: "Received", response }]]
  const timers = { K: reliable ? now : now + timing.t4 }
  return [{ ...is, state: "completed", timers }, [{ _tag: "Received", response }]]
}

export const fire = (is: ClientTransaction, timer: string, now: number): Step<ClientTransaction> => {
  const isOpen = is.state === "trying" || is.state === "proceeding"
  if (timer === "E" && isOpen) {
    const { t2 } = is.timing
    const interval = is.state === "proceeding" ? t2 : Math.min(is.interval * 2, t2)
    return [{ ...is, interval, timers: { ...is.timers, E: now + interval } }, [{ _tag: "Send", message: is.request }]]
  }
  if (timer === "F" && isOpen) {
    return [{ ...is, state: "terminated", timers: {} }, [{ _tag: "Failed", reason: "timeout" }]]
  }
  const timers = without(is.timers, timer)
  return [timer === "K" ? { ...is, state: "terminated", timers } : { ...is, timers }, nothing]
}

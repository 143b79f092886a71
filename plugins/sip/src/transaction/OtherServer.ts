import type { Response } from "../message/Message.ts"
import { without } from "./Timing.ts"
import { isProvisional, nothing, type ServerTransaction, type Step } from "./Transaction.ts"

/**
 * The server transaction of requests that are no INVITE (RFC 3261, 17.2.2); it begins as that of INVITE does:
 *
 * | state      | input           | next       | outputs                |
 * | ---------- | --------------- | ---------- | ---------------------- |
 * | proceeding | request again   | proceeding | send the last response |
 * | proceeding | respond 1xx     | proceeding | send                   |
 * | proceeding | respond 200–699 | completed  | send, timer J          |
 * | completed  | request again   | completed  | send the last response |
 * | completed  | timer J         | terminated |                        |
 */
export const receive = (is: ServerTransaction): Step<ServerTransaction> => [
  is,
  is.response === undefined || is.state === "terminated" ? nothing : [{ _tag: "Send", message: is.response }]
]

export const respond = (is: ServerTransaction, response: Response, now: number): Step<ServerTransaction> => {
  if (is.state !== "proceeding") return [is, nothing]
  const send = [{ _tag: "Send", message: response }] as const
  if (isProvisional(response)) return [{ ...is, response }, send]
  const timers = { J: is.reliable ? now : now + 64 * is.timing.t1 }
  return [{ ...is, response, state: "completed", timers }, send]
}

export const fire = (is: ServerTransaction, timer: string): Step<ServerTransaction> => {
  const timers = without(is.timers, timer)
  return [timer === "J" ? { ...is, state: "terminated", timers } : { ...is, timers }, nothing]
}

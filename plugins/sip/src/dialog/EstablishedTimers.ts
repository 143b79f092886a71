import { without } from "../transaction/Timing.ts"
import { contactHeaders, type Established, end, hangUp, none, type Step, send } from "./Established.ts"
import * as SessionTimer from "./SessionTimer.ts"

const refresh = (is: Established, now: number): Step => {
  const { timer } = is
  if (timer === undefined || is.state !== "talking") return [is, none]
  if (!timer.isOurs) return hangUp(is, "the session has expired")
  const headers = [...contactHeaders(is), ...SessionTimer.refreshHeaders(timer, is.minSe)]
  const waiting = { ...is, isRefreshing: true, timers: { ...is.timers, session: now + timer.seconds * 500 } }
  if (is.isRefreshing) return hangUp(is, "the session could not be refreshed")
  if (is.takesUpdate) return send(waiting, "UPDATE", { headers })
  const withType = [...headers, { name: "content-type", value: "application/sdp" }]
  return send(waiting, "INVITE", { headers: withType, body: is.sdp })
}

/** A timer of the call is due. */
export const fire = (is: Established, timer: string, now: number): Step => {
  const rest = { ...is, timers: without(is.timers, timer) }
  const { unacknowledged } = is
  if (timer === "session") return refresh(rest, now)
  if (unacknowledged === undefined) return [rest, none]
  if (timer === "repeat") {
    const interval = Math.min(unacknowledged.interval * 2, is.timing.t2)
    const { key, response: repeated } = unacknowledged
    return [
      { ...rest, unacknowledged: { ...unacknowledged, interval }, timers: { ...rest.timers, repeat: now + interval } },
      [{ _tag: "Respond", key, response: repeated }]
    ]
  }
  if (timer !== "noAck") return [rest, none]
  const [ending, outputs] = hangUp({ ...rest, unacknowledged: undefined }, "no ACK came")
  return end(ending, outputs, { cause: "failed", code: "408", reason: "the answer was never acknowledged" })
}

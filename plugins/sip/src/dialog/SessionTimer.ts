import type { Message as AnyMessage, Header } from "../message/Message.ts"
import * as Message from "../message/Message.ts"

/** The shortest session interval that we accept, in seconds (RFC 4028, 4). */
export const leastSeconds = 90
/** The session interval that we ask for, in seconds. */
export const usualSeconds = 1800

/** An agreed session interval. */
export interface SessionTimer {
  readonly seconds: number
  /** Whether we refresh the session. */
  readonly isOurs: boolean
}

/** The value of Session-Expires. */
export const parse = (
  message: AnyMessage
): { readonly seconds: number; readonly refresher: "uac" | "uas" | undefined } | undefined => {
  const value = Message.header(message, "session-expires")
  const match = value === undefined ? null : /^\s*(\d{1,9})\s*(?:;(.*))?$/.exec(value)
  if (match === null) return undefined
  const refresher = /(?:^|;)\s*refresher\s*=\s*(uac|uas)/i.exec(match[2] ?? "")?.[1]?.toLowerCase()
  return { seconds: Number(match[1]), refresher: refresher === "uac" || refresher === "uas" ? refresher : undefined }
}

/**
 * The interval that a request of the peer asks for, as it will be answered; `tooSmall`: to be refused with 422. Without
 * `Supported: timer` an interval can be neither refused nor raised (RFC 4028, 9): one that is too small is left out.
 */
export const answered = (request: AnyMessage): SessionTimer | "tooSmall" | undefined => {
  const asked = parse(request)
  const isSupported = Message.tokens(request, "supported").includes("timer")
  if (asked === undefined) return undefined
  if (asked.seconds < leastSeconds) return isSupported ? "tooSmall" : undefined
  return { seconds: asked.seconds, isOurs: asked.refresher === "uas" || !isSupported }
}

/** The headers of a 2xx that agrees to an interval. */
export const headersOf = (timer: SessionTimer | undefined, peerSupports: boolean): ReadonlyArray<Header> => {
  if (timer === undefined) return []
  const refresher = timer.isOurs ? "uas" : "uac"
  return [
    ...(peerSupports && !timer.isOurs ? [{ name: "require", value: "timer" }] : []),
    { name: "session-expires", value: `${timer.seconds};refresher=${refresher}` }
  ]
}

/** The headers of a request of ours that refreshes the session. */
export const refreshHeaders = ({ seconds }: SessionTimer): ReadonlyArray<Header> => [
  { name: "session-expires", value: `${seconds};refresher=uac` },
  { name: "min-se", value: String(leastSeconds) }
]

/** The interval that a 2xx to a request of ours has agreed to. */
export const agreed = (response: AnyMessage): SessionTimer | undefined => {
  const found = parse(response)
  return found === undefined ? undefined : { seconds: found.seconds, isOurs: found.refresher !== "uas" }
}

/** When something is to be done, in ms after the refresh: half for the refresher, a little before the end for the other. */
export const dueMs = ({ isOurs, seconds }: SessionTimer): number =>
  isOurs ? seconds * 500 : (seconds - Math.min(32, seconds / 3)) * 1000

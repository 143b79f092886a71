import type { Message as AnyMessage, Header, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { decimal } from "../message/Syntax.ts"

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

/** The longest interval that we ask for, in seconds: a day. */
const longestSeconds = 86_400

/** The shortest interval that a message admits, and we do, in seconds: its Min-SE. */
export const leastIn = (message: AnyMessage): number => {
  const value = Message.header(message, "min-se")?.split(";", 1)[0]?.trim() ?? ""
  return Math.max(leastSeconds, decimal(value, longestSeconds) ?? leastSeconds)
}

/**
 * The headers of a request of ours that refreshes the session. `least`: the largest Min-SE of the call, in seconds
 * (RFC 4028, 7.4).
 */
export const refreshHeaders = ({ seconds }: SessionTimer, least: number): ReadonlyArray<Header> => [
  { name: "session-expires", value: `${Math.max(seconds, least)};refresher=uac` },
  { name: "min-se", value: String(least) }
]

/**
 * A request of ours that got 422, with the interval of that response and this number of CSeq (RFC 4028, 7.3). Undefined: the
 * interval is not longer than what was asked for.
 */
export const lengthened = (sent: Request, refusal: Response, number: number): Request | undefined => {
  const least = leastIn(refusal)
  if (refusal.status !== 422 || least <= (parse(sent)?.seconds ?? 0)) return undefined
  const params = /;.*$/.exec(Message.header(sent, "session-expires") ?? "")?.[0] ?? ""
  const rest = sent.headers.flatMap((each) => {
    if (each.name === "cseq") return [{ name: "cseq", value: `${number} ${sent.method}` }]
    return each.name === "session-expires" || each.name === "min-se" ? [] : [each]
  })
  const longer = [
    { name: "session-expires", value: `${least}${params}` },
    { name: "min-se", value: String(least) }
  ]
  return { ...sent, headers: [...rest, ...longer] }
}

/** The interval that a 2xx to a request of ours has agreed to. */
export const agreed = (response: AnyMessage): SessionTimer | undefined => {
  const found = parse(response)
  return found === undefined ? undefined : { seconds: found.seconds, isOurs: found.refresher !== "uas" }
}

/** When something is to be done, in ms after the refresh: half for the refresher, a little before the end for the other. */
export const dueMs = ({ isOurs, seconds }: SessionTimer): number =>
  isOurs ? seconds * 500 : (seconds - Math.min(32, seconds / 3)) * 1000

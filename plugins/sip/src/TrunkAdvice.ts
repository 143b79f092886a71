import { type Trunk, transportOf } from "./Trunk.ts"
import { usualTiming } from "./transaction/Timing.ts"

/** What the operator should look at when a request of ours to a trunk has failed; undefined: no setting is to blame. */
export const adviceOf = (
  { variable }: Pick<Trunk, "variable">,
  status: number,
  isUnreached: boolean
): string | undefined => {
  if (variable === "") return undefined
  if (isUnreached) return `check ${variable}_URI, and that its address can be reached from this machine`
  if (status === 401 || status === 403 || status === 407) return `check ${variable}_USERNAME and ${variable}_PASSWORD`
  if (status === 404) return `check the number, and ${variable}_URI when all calls fail so`
  return status === 488 || status === 606 ? "check SVC_SIP_CODECS and SVC_SIP_SRTP" : undefined
}

/** Seconds after which a request has no response (RFC 3261, timer F). */
const responseSeconds = (64 * usualTiming.t1) / 1000

/** Why no server of the trunk answered a request. `problem`: what DNS said, where it had no server. */
export const unreachedText = (
  trunk: Pick<Trunk, "uri" | "transport">,
  reason: "timeout" | "transport",
  problem: string | undefined
): string => {
  const { host, port } = trunk.uri
  const server = `${host}${port === undefined ? "" : `:${port}`} over ${transportOf(trunk).toUpperCase()}`
  return reason === "timeout"
    ? `no response from ${server} within ${responseSeconds} s`
    : `it cannot be reached: ${problem ?? `no connection to ${server}`}`
}

/** A text with the advice for it. */
export const advised = (text: string, advice: string | undefined): string =>
  advice === undefined ? text : `${text}; ${advice}`

/**
 * Why a call failed, for people, with the status of the trunk first, by which docs/sip.md explains it. None came from a trunk
 * that was not reached; an answer that cannot be used has what `why` says.
 */
export const failureText = (
  { variable }: Pick<Trunk, "variable">,
  status: number,
  why: string,
  isUnreached: boolean
): string => {
  if (isUnreached) return why
  const side = variable === "" ? "the phone" : "the trunk"
  if (status < 300) return `${side} answered ${status} with ${why}`
  return `${status} ${why === "" ? `from ${side}` : why}`
}

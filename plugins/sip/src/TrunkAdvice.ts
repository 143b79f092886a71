import * as Description from "./sdp/Description.ts"
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

/** Payload types without `a=rtpmap` that phones offer beside ours (RFC 3551, table 4). */
const names: ReadonlyMap<string, string> = new Map([
  ["0", "PCMU"],
  ["3", "GSM"],
  ["4", "G723"],
  ["8", "PCMA"],
  ["9", "G722"],
  ["18", "G729"]
])

/** The host name to which audio would go, which is not looked up; undefined: it goes to an IP address. */
export const hostNameIn = ({ sections }: Description.Description): string | undefined =>
  sections.find(({ port, type }) => type === "audio" && port !== 0)?.hostName

/** The audio that a description offers, for people: `RTP/AVP with G729 and OPUS`. */
export const audioIn = (sdp: Description.Description | Uint8Array): string => {
  const parsed = sdp instanceof Uint8Array ? Description.parse(sdp) : sdp
  const sections = parsed?.sections.filter(({ type }) => type === "audio") ?? []
  if (sections.length === 0) return "no audio"
  const name = parsed === undefined ? undefined : hostNameIn(parsed)
  if (name !== undefined) return `audio at ${name}, and host names are not supported in c=, only IP addresses`
  return sections
    .map(({ codecs, formats, protocol }) => {
      const known = new Map(codecs.map(({ name, payloadType }) => [String(payloadType), name]))
      const all = formats
        .split(/\s+/)
        .flatMap((each) => known.get(each) ?? names.get(each) ?? (each === "" ? [] : each))
      const audio = all.filter((name) => name !== "TELEPHONE-EVENT" && name !== "CN").slice(0, 20)
      return `${protocol} with ${audio.length === 0 ? "no codec" : audio.join(", ")}`
    })
    .join(" and ")
}

import type { CallEvent, DialFailed } from "@svc/providers/Telephony"
import type { CallPayload } from "./WebhookEvent.ts"

type Ended = Extract<CallEvent, { readonly _tag: "Ended" }>

/** The carrier's code of an end: the SIP status where it is known, else Telnyx's word. */
export const codeOf = ({ hangup_cause, sip_hangup_cause }: CallPayload): string | undefined => {
  const sip = sip_hangup_cause === undefined || sip_hangup_cause === null ? "" : String(sip_hangup_cause)
  if (sip !== "" && sip !== "unspecified") return sip
  return hangup_cause ?? undefined
}

const withCode = (payload: CallPayload) => {
  const code = codeOf(payload)
  return code === undefined ? {} : { code }
}

/** Ends of a call that neither party has caused. */
const broken: ReadonlySet<string> = new Set(["time_limit", "timeout", "not_found"])

/** How an answered call has ended. */
export const endedBy = (payload: CallPayload): Ended => {
  const { hangup_cause: word, hangup_source: source } = payload
  // A hang-up without a cause is a normal one; `unspecified` is Telnyx's word for one that it cannot explain.
  const cause = word ?? "no cause"
  const isFailed = broken.has(cause) || (cause === "unspecified" && source !== "caller" && source !== "callee")
  return {
    _tag: "Ended",
    cause: isFailed ? "failed" : "hangup",
    reason: `Telnyx says ${cause}`,
    ...withCode(payload)
  }
}

/** Why a call was not answered, by Telnyx's word and the SIP status. */
export const outcomeOf = (payload: CallPayload): DialFailed["outcome"] => {
  const sip = String(payload.sip_hangup_cause ?? "")
  switch (payload.hangup_cause) {
    case "user_busy":
      return "busy"
    case "call_rejected":
      return sip === "486" || sip === "600" ? "busy" : "rejected"
    case "timeout":
    case "no_answer":
    case "originator_cancel":
      return "no-answer"
    default:
      if (sip === "486" || sip === "600") return "busy"
      if (sip === "603") return "rejected"
      return sip === "480" || sip === "408" || sip === "487" ? "no-answer" : "failed"
  }
}

/** The cause as text for people. */
export const reasonOf = (payload: CallPayload): string => {
  const code = codeOf(payload)
  const word = payload.hangup_cause ?? "no cause"
  return code === undefined || code === word ? `Telnyx says ${word}` : `Telnyx says ${word}, ${code}`
}

/** The verdict of Telnyx's answering-machine detection; undefined: the event has none. */
export const verdictOf = (
  type: string,
  { result }: CallPayload
): "human" | "machine" | "fax" | "unknown" | undefined => {
  if (/^call\.machine\.(premium\.)?greeting\.ended$/.test(type)) return "machine"
  if (!/^call\.machine\.(premium\.)?detection\.ended$/.test(type)) return undefined
  switch (result) {
    case "human":
    case "human_residence":
    case "human_business":
      return "human"
    case "machine":
      return "machine"
    case "fax_detected":
      return "fax"
    default:
      return "unknown"
  }
}

import type { Headers, Request } from "../message/Message.ts"
import { methods } from "../message/RequestCheck.ts"
import type { Account } from "./Account.ts"

/** A call to be placed. */
export interface NewCall {
  readonly uri: string
  /** The value of From without a tag. */
  readonly from: string
  readonly to: string
  readonly contact: string
  readonly headers: Headers
  readonly routes: ReadonlyArray<string>
  /** The offer. */
  readonly sdp: Uint8Array
  readonly account: Account | undefined
  /** Whether the call can go another way, so that servers which do not answer are given up soon. */
  readonly hasAlternative?: boolean
}

/** The INVITE of a call, without Via. */
export const initialInvite = (
  { contact, from, headers, routes, sdp, to, uri }: NewCall,
  callId: string,
  localTag: string
): Request => ({
  _tag: "Request",
  method: "INVITE",
  uri,
  headers: [
    ...routes.map((value) => ({ name: "route", value })),
    { name: "max-forwards", value: "70" },
    { name: "from", value: `${from};tag=${localTag}` },
    { name: "to", value: to },
    { name: "call-id", value: callId },
    { name: "cseq", value: "1 INVITE" },
    { name: "contact", value: contact },
    { name: "allow", value: methods.join(", ") },
    { name: "supported", value: "timer, 100rel" },
    { name: "session-expires", value: "1800" },
    { name: "min-se", value: "90" },
    ...headers,
    { name: "content-type", value: "application/sdp" }
  ],
  body: sdp
})

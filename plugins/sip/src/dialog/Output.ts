import type { Headers, Request, Response } from "../message/Message.ts"

/** Why a call ended. `hangup`: the peer hung up. `local`: we did. `code` is a SIP status or a Q.850 cause. */
export interface Ending {
  readonly cause: "hangup" | "local" | "failed"
  readonly code?: string
  readonly reason?: string
}

/** What a call reports to the shell, which has the media. */
export type CallEvent =
  /** The peer rings (180) or progresses (183), with a description when there is early media. */
  | { readonly _tag: "Ringing"; readonly status: number; readonly sdp: Uint8Array | undefined }
  /** Our call was answered. `headers` are those of the response. */
  | { readonly _tag: "Answered"; readonly sdp: Uint8Array; readonly headers: Headers }
  /**
   * Our call was not answered. `isUnreached`: no response came at all; the status is the one that this amounts to. A status
   * of 200 to 299: it was answered, and the answer, which has what `reason` says, cannot be used.
   */
  | { readonly _tag: "Refused"; readonly status: number; readonly reason: string; readonly isUnreached?: boolean }
  /** The call ended before our answer. `isByCaller`: the caller ended it, also by the time limit of the INVITE. */
  | { readonly _tag: "Canceled"; readonly reason: string; readonly isByCaller: boolean }
  /** The PRACK of our 180 has the answer to the offer in it (RFC 3262, 5). */
  | { readonly _tag: "EarlyAnswered"; readonly sdp: Uint8Array }
  /** Our answer has been acknowledged; with the peer's description when the offer was ours. */
  | { readonly _tag: "Confirmed"; readonly sdp: Uint8Array | undefined }
  /** A new offer in the call, to be answered with the command `Accept` or `Decline`. Without a description an offer is asked. */
  | { readonly _tag: "Offered"; readonly key: string; readonly sdp: Uint8Array | undefined }
  /** The answer to our description that was sent again. */
  | { readonly _tag: "Refreshed"; readonly sdp: Uint8Array }
  /**
   * The peer refused our offer in the call, or it could not be sent now. `againMs`: the offers of both sides have met, and
   * ours may be made again after so many ms; undefined: it may not.
   */
  | { readonly _tag: "OfferRefused"; readonly againMs: number | undefined }
  | { readonly _tag: "Digit"; readonly digit: string }
  /** The peer has answered our INFO with a digit. */
  | { readonly _tag: "DigitAnswered" }
  /** The peer has answered a probe. */
  | { readonly _tag: "Alive" }
  /**
   * A response to our REFER, or its NOTIFY: the status of the transfer. `isReported`: the peer has sent it; else it is
   * the one that the lack of a response or of a result amounts to.
   */
  | {
      readonly _tag: "Transfer"
      readonly status: number
      readonly reason: string
      readonly from: "refer" | "notify"
      readonly isReported: boolean
    }
  | { readonly _tag: "Ended"; readonly ending: Ending }

/** What a call requests, in order. */
export type Output =
  /** A response to the request with this key of its transaction. */
  | { readonly _tag: "Respond"; readonly key: string; readonly response: Response }
  /**
   * A request, without Via. `isUnwanted`: it is of a dialog that is ended at once, and its response is not for the call.
   * `hasAlternative`: as in `Locate`.
   */
  | {
      readonly _tag: "Request"
      readonly id: string
      readonly request: Request
      readonly isUnwanted?: boolean
      readonly hasAlternative?: boolean
    }
  /** Cancel the INVITE with this id. */
  | { readonly _tag: "Cancel"; readonly id: string }
  | { readonly _tag: "Event"; readonly event: CallEvent }

/** What a refusal has besides its status: Warning (RFC 3261, 20.43). */
export const warned = (warning: string | undefined): { readonly headers: Headers } => ({
  headers: warning === undefined ? [] : [{ name: "warning", value: warning }]
})

export const event = (of: CallEvent): Output => ({ _tag: "Event", event: of })

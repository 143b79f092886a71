import type { CallEvent, TransferState } from "@svc/providers/Telephony"
import type { CallEvent as DialogEvent } from "./dialog/Output.ts"

/** The state of a transfer for a status of the call to its destination: the same as for calls that we place. */
export const failureOf = (status: number): Exclude<TransferState, "ringing" | "completed"> => {
  if (status === 486 || status === 600) return "busy"
  if (status === 480 || status === 408 || status === 487) return "no-answer"
  return status === 603 ? "rejected" : "failed"
}

/** A blind transfer in progress (RFC 3515): what REFER and its NOTIFYs mean. */
export interface Transfer {
  readonly hasRung: boolean
  /** The peer has accepted the REFER. */
  readonly isAccepted: boolean
}

export const started: Transfer = { hasRung: false, isAccepted: false }

export type Progress = Extract<CallEvent, { readonly _tag: "TransferProgress" }>

/** A report about a transfer: a response to REFER, its NOTIFY, or what the lack of them amounts to. */
export interface Report {
  readonly status: number
  /** For people. */
  readonly reason: string
  readonly from: "refer" | "notify"
}

/** What an event of the dialog says, for people: `403 Forbidden`. A status that the peer did not send is left out. */
export const reasonOf = ({
  isReported,
  reason,
  status
}: Pick<Extract<DialogEvent, { readonly _tag: "Transfer" }>, "isReported" | "reason" | "status">): string =>
  isReported ? `${status} ${reason}`.trim() : reason

/** What a status means. `done`: the transfer is over. `refused`: the peer does not transfer, and nothing was called. */
export const step = (
  transfer: Transfer,
  { from, reason, status }: Report,
  isFallback: boolean
): { readonly next: Transfer | "done"; readonly progress: Progress | undefined } => {
  if (from === "refer" && status < 300) return { next: { ...transfer, isAccepted: true }, progress: undefined }
  if (from === "refer") {
    const refused = isFallback && status !== 408
    const progress = {
      _tag: "TransferProgress",
      state: "failed",
      reason,
      ...(refused ? { refused } : {})
    } as const
    return { next: "done", progress }
  }
  if (status < 180) return { next: transfer, progress: undefined }
  if (status < 200) {
    const progress = transfer.hasRung ? undefined : ({ _tag: "TransferProgress", state: "ringing" } as const)
    return { next: { ...transfer, hasRung: true }, progress }
  }
  if (status < 300) return { next: "done", progress: { _tag: "TransferProgress", state: "completed" } }
  return { next: "done", progress: { _tag: "TransferProgress", state: failureOf(status), reason } }
}

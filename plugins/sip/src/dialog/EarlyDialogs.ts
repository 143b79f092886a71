import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as Dialog from "./Dialog.ts"
import type { Output } from "./Output.ts"

/** An early dialog (RFC 3261, 12.1), begun by a provisional response to an INVITE of ours. */
export interface EarlyDialog {
  readonly dialog: Dialog.Dialog
  /** The number of the last reliable response; undefined: none yet. */
  readonly number: number | undefined
  /** The PRACK for that response was refused, or got no response: the response is acknowledged again when it is repeated. */
  readonly hasFailedPrack?: boolean
  /** The last description of the peer: an answer that a 200 does not have to repeat (RFC 3262, 5). */
  readonly sdp: Uint8Array | undefined
}

export type EarlyDialogs = ReadonlyArray<EarlyDialog>

/** At most this many phones of one call are kept apart. */
const maxDialogs = 16

const tagOf = ({ dialog }: EarlyDialog): string => dialog.remoteTag

/** The dialog of a request of ours in it. */
export const ofSent = (early: EarlyDialogs, sent: Request): EarlyDialog | undefined =>
  early.find((each) => tagOf(each) === Message.tag(sent, "to"))

/** With the next state of a dialog. */
export const updated = (early: EarlyDialogs, next: EarlyDialog): EarlyDialogs =>
  early.some((each) => tagOf(each) === tagOf(next))
    ? early.map((each) => (tagOf(each) === tagOf(next) ? next : each))
    : [...early, next].slice(-maxDialogs)

/**
 * Takes a provisional response: the dialogs after it, and the PRACK that a reliable one gets (RFC 3262, 4). `drop`: it is a
 * repetition, or out of order. `isRepeated`: it has been reported, and only its PRACK is sent again.
 */
export const received = (
  early: EarlyDialogs,
  invite: Request,
  response: Response
): { readonly early: EarlyDialogs; readonly outputs: ReadonlyArray<Output>; readonly isRepeated: boolean } | "drop" => {
  const dialog = Dialog.ofResponse(invite, response)
  const known = early.find((each) => tagOf(each) === dialog.remoteTag)
  const sdp = Message.description(response) ?? known?.sdp
  const rseq = Number(Message.header(response, "rseq") ?? Number.NaN)
  const isReliable = Message.tokens(response, "require").includes("100rel") && Number.isInteger(rseq)
  if (!isReliable) {
    return { early: updated(early, { dialog, number: undefined, ...known, sdp }), outputs: [], isRepeated: false }
  }
  const isRepeated = known?.number === rseq && known.hasFailedPrack === true
  if (known?.number !== undefined && rseq !== known.number + 1 && !isRepeated) return "drop"
  const rack = `${rseq} ${Message.cseq(response)?.number ?? 0} INVITE`
  const [next, request] = Dialog.request(known?.dialog ?? dialog, "PRACK", { headers: [{ name: "rack", value: rack }] })
  return {
    early: updated(early, { dialog: next, number: rseq, sdp }),
    outputs: [{ _tag: "Request", id: `PRACK-${next.localNumber}`, request }],
    isRepeated
  }
}

/** A PRACK was refused, or got no response. */
export const prackFailed = (early: EarlyDialogs, sent: Request): EarlyDialogs => {
  const found = ofSent(early, sent)
  const number = Number(Message.header(sent, "rack")?.split(" ", 1)[0])
  return found === undefined || found.number !== number ? early : updated(early, { ...found, hasFailedPrack: true })
}

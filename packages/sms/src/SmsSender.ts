import { factsOf } from "@svc/numbers/NumberPlan"

/** As whom a message goes out: a name, or a number of ours. */
export type SmsSender =
  | { readonly sender_type: "number"; readonly from_number: string; readonly sender_name: null }
  | { readonly sender_type: "alphanumeric"; readonly from_number: null; readonly sender_name: string }

/** Where a name may stand in place of the number: the European Union, the United Kingdom, Australia. */
const named: ReadonlySet<string> = new Set([
  ..."AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE".split(" "),
  "GB",
  "AU"
])

/**
 * The sender of a message. A name counts where the receiver's country allows one; elsewhere, as in the US and Canada, it is
 * passed over and the number is the sender.
 */
export const senderOf = (to: string, number: string, name: string | null): SmsSender => {
  const wanted = name?.trim() ?? ""
  return wanted !== "" && named.has(factsOf(to).country)
    ? { sender_type: "alphanumeric", from_number: null, sender_name: wanted }
    : { sender_type: "number", from_number: number, sender_name: null }
}

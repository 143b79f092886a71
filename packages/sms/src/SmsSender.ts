import { numberFactsOf } from "@svc/numbers/NumberPlan"

/** The sender of a message: a name, or a number of the project. */
export type SmsSender =
  | { readonly sender_type: "number"; readonly from_number: string; readonly sender_name: null }
  | { readonly sender_type: "alphanumeric"; readonly from_number: null; readonly sender_name: string }

/**
 * Countries that allow a name as the sender: the European Union with its parts that have a country code of their own
 * (Åland, French Guiana, Guadeloupe, Martinique, Mayotte, Réunion, Saint Martin), the United Kingdom, Australia.
 */
const nameCountries: ReadonlySet<string> = new Set([
  ..."AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE".split(" "),
  ..."AX GF GP MQ YT RE MF".split(" "),
  "GB",
  "AU"
])

/**
 * The sender of a message. A name is used where the receiver's country allows one; in other countries, such as the US
 * and Canada, it is ignored and the number is the sender.
 */
export const senderOf = (to: string, number: string, name: string | null): SmsSender => {
  const requested = name?.trim() ?? ""
  return requested !== "" && nameCountries.has(numberFactsOf(to).country)
    ? { sender_type: "alphanumeric", from_number: null, sender_name: requested }
    : { sender_type: "number", from_number: number, sender_name: null }
}

import type { RejectCause } from "@svc/providers/Telephony"
import * as Message from "./message/Message.ts"
import type { NameAddr } from "./message/NameAddr.ts"
import * as Uri from "./message/Uri.ts"

/** A number as trunks write it: digits, with or without `+`. */
const isNumber = (text: string): boolean => /^\+?[\d\-.() ]{3,24}$/.test(text)

/**
 * A number without separators, in E.164 where it has a country code: trunks also write `15550100200` and `0015550100200`.
 * Fewer than eleven digits may be a national number or an extension: these stay, and so does one with a leading zero.
 */
const plainNumber = (text: string): string => {
  const number = text.replace(/[-.() ]/g, "")
  if (/^[1-9]\d{10,14}$/.test(number)) return `+${number}`
  return number.replace(/^00(?=[1-9]\d{7,14}$)/, "+")
}

const userOf = (uri: Uri.Uri): string | undefined =>
  uri._tag === "Tel" ? uri.number : uri._tag === "Sip" ? uri.user?.split(";", 1)[0] : undefined

/** A number, or else the URI without parameters. */
const partyOf = (uri: Uri.Uri): string => {
  const user = userOf(uri)
  if (user !== undefined && isNumber(user)) return plainNumber(user)
  if (uri._tag !== "Sip") return Uri.text(uri)
  return Uri.text({ ...uri, user, password: undefined, params: [], headers: [] })
}

/**
 * Who is called: the number of the Request-URI. When that is our registered Contact, whose user is the trunk's username, the
 * number of P-Called-Party-ID (RFC 7315, 4.2), which is the Request-URI before it became the Contact, else To.
 */
export const calledOf = (invite: Message.Request, username: string | undefined): string => {
  const uri = Uri.parse(invite.uri)
  const user = uri === undefined ? undefined : userOf(uri)
  if (uri !== undefined && user !== undefined && user !== username && isNumber(user)) return partyOf(uri)
  const calledParty = Message.address(invite, "p-called-party-id")?.uri
  if (calledParty !== undefined && isNumber(userOf(calledParty) ?? "")) return partyOf(calledParty)
  const to = Message.address(invite, "to")?.uri
  return to === undefined ? invite.uri : partyOf(to)
}

const isAnonymous = ({ uri }: NameAddr): boolean =>
  uri._tag === "Sip" && (uri.user?.toLowerCase() === "anonymous" || uri.host.toLowerCase() === "anonymous.invalid")

/** Whether the caller asks for privacy. The values are separated by `;` (RFC 3323, 4.2), and by some with `,`. */
const isWithheld = (invite: Message.Request): boolean =>
  Message.tokens(invite, "privacy")
    .flatMap((each) => each.split(";"))
    .some((each) => ["id", "user", "header"].includes(each.trim()))

/** The phone that calls, by the user whose password it has. */
export interface CallingPhone {
  readonly user: string
  /** The user's own number (E.164). */
  readonly number: string | undefined
}

/** The number of a phone, or else From with the user's name: a phone cannot claim the number of another. */
const ofPhone = ({ number, user }: CallingPhone, { uri }: NameAddr): string =>
  number ?? (uri._tag === "Sip" ? partyOf({ ...uri, user }) : user)

/**
 * Who calls: of P-Asserted-Identity where it is there, else From; null when withheld. Only of a source that is trusted the
 * former counts (RFC 3325, 5). `phone`: the call has a user's password, and is from no other caller.
 */
export const callerOf = (
  invite: Message.Request,
  isTrusted = true,
  phone?: CallingPhone
): { readonly from: string | null; readonly name: string | undefined } => {
  const asserted = isTrusted ? (Message.addresses(invite, "p-asserted-identity") ?? []) : []
  const party = asserted.find(({ uri }) => uri._tag !== "Other") ?? Message.address(invite, "from")
  if (party === undefined || isWithheld(invite) || isAnonymous(party)) return { from: null, name: undefined }
  const from = phone === undefined ? partyOf(party.uri) : ofPhone(phone, party)
  return { from, name: party.name === "" ? undefined : party.name.slice(0, 200) }
}

/** Headers that say more about a call; those of applications begin with `X-`. */
const forwarded: ReadonlySet<string> = new Set([
  "diversion",
  "history-info",
  "p-asserted-identity",
  "p-called-party-id",
  "user-to-user",
  "user-agent",
  "subject"
])

/**
 * The headers that the engine gets, by their names in lower case; several of one name are joined with commas. Without
 * P-Asserted-Identity where the source is not trusted.
 */
export const headersOf = (
  message: { readonly headers: Message.Headers },
  isTrusted = true
): { readonly [name: string]: string } => {
  const found = new Map<string, string>()
  for (const { name, value } of message.headers) {
    if (!forwarded.has(name) && !name.startsWith("x-")) continue
    if (name === "p-asserted-identity" && !isTrusted) continue
    const before = found.get(name)
    found.set(name, (before === undefined ? value : `${before}, ${value}`).slice(0, 1000))
  }
  return Object.fromEntries(found)
}

/** The status with which a call is refused. */
export const refusalOf = (cause: RejectCause): { readonly status: number; readonly reason: string } => {
  if (cause === "busy") return { status: 486, reason: "Busy Here" }
  if (cause === "unknown-number") return { status: 404, reason: "Not Found" }
  return cause === "declined" ? { status: 603, reason: "Decline" } : { status: 480, reason: "Temporarily Unavailable" }
}

/** What a refusal of our call means. */
export const outcomeOf = (status: number): "busy" | "no-answer" | "failed" => {
  if (status === 486 || status === 600) return "busy"
  return status === 480 || status === 408 ? "no-answer" : "failed"
}

import type { RejectCause } from "@svc/providers/Telephony"
import * as Message from "./message/Message.ts"
import type { NameAddr } from "./message/NameAddr.ts"
import * as Uri from "./message/Uri.ts"

/** A number as trunks write it: digits, with or without `+`. */
const isNumber = (text: string): boolean => /^\+?[\d\-.() ]{3,24}$/.test(text)

const plainNumber = (text: string): string => text.replace(/[-.() ]/g, "")

const userOf = (uri: Uri.Uri): string | undefined =>
  uri._tag === "Tel" ? uri.number : uri._tag === "Sip" ? uri.user?.split(";", 1)[0] : undefined

/** A number, or else the URI as text. */
const partyOf = (uri: Uri.Uri): string => {
  const user = userOf(uri)
  return user !== undefined && isNumber(user) ? plainNumber(user) : Uri.text(uri)
}

/**
 * Who is called: the number of the Request-URI, or of To when the Request-URI is our registered Contact, whose user is the
 * trunk's username.
 */
export const calledOf = (invite: Message.Request, username: string | undefined): string => {
  const uri = Uri.parse(invite.uri)
  const user = uri === undefined ? undefined : userOf(uri)
  const to = Message.address(invite, "to")?.uri
  if (uri !== undefined && user !== undefined && user !== username && isNumber(user)) return partyOf(uri)
  return to === undefined ? invite.uri : partyOf(to)
}

const isAnonymous = ({ uri }: NameAddr): boolean =>
  uri._tag === "Sip" && (uri.user?.toLowerCase() === "anonymous" || uri.host.toLowerCase() === "anonymous.invalid")

/**
 * Who calls: of P-Asserted-Identity where it is there, else From; null when withheld. Only of a source that is trusted the
 * former counts (RFC 3325, 5).
 */
export const callerOf = (
  invite: Message.Request,
  isTrusted = true
): { readonly from: string | null; readonly name: string | undefined } => {
  const isPrivate = Message.tokens(invite, "privacy").some((each) => ["id", "user", "header"].includes(each))
  const asserted = isTrusted ? (Message.addresses(invite, "p-asserted-identity") ?? []) : []
  const party = asserted.find(({ uri }) => uri._tag !== "Other") ?? Message.address(invite, "from")
  if (party === undefined || isPrivate || isAnonymous(party)) return { from: null, name: undefined }
  return { from: partyOf(party.uri), name: party.name === "" ? undefined : party.name.slice(0, 200) }
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

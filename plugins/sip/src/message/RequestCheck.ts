import { bodyTypes } from "./Body.ts"
import type { Request } from "./Message.ts"
import * as Message from "./Message.ts"
import * as Uri from "./Uri.ts"

/** The methods that are answered, in the order of the Allow header. */
export const methods: ReadonlyArray<string> = [
  "INVITE",
  "ACK",
  "CANCEL",
  "BYE",
  "OPTIONS",
  "PRACK",
  "UPDATE",
  "INFO",
  "REFER",
  "NOTIFY"
]

/** Methods that exist and are not answered here: 405 instead of 501. */
const others: ReadonlySet<string> = new Set(["REGISTER", "SUBSCRIBE", "MESSAGE", "PUBLISH"])

/** The extensions that a peer may require. */
export const extensions: ReadonlyArray<string> = ["100rel", "timer"]

/** A refusal of a well-formed request. */
export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly headers: Message.Headers
}

const isAccepted = (accepted: ReadonlyArray<string>): boolean =>
  accepted.some((each) => ["application/sdp", "application/*", "*/*"].includes(each.split(";", 1)[0]?.trim() ?? ""))

/**
 * What a user agent must refuse before it looks for a call (RFC 3261, 8.2): a method, scheme, extension or body that is
 * not understood. Undefined: nothing.
 */
export const refusalOf = (request: Request): Refusal | undefined => {
  const allow = { name: "allow", value: methods.join(", ") }
  if (!methods.includes(request.method)) {
    return others.has(request.method)
      ? { status: 405, reason: "Method Not Allowed", headers: [allow] }
      : { status: 501, reason: "Not Implemented", headers: [allow] }
  }
  const uri = Uri.parse(request.uri)
  if (uri === undefined || uri._tag === "Other") return { status: 416, reason: "Unsupported URI Scheme", headers: [] }
  if (request.method === "ACK" || request.method === "CANCEL") return undefined
  const unsupported = Message.tokens(request, "require").filter((each) => !extensions.includes(each))
  if (unsupported.length > 0) {
    return { status: 420, reason: "Bad Extension", headers: [{ name: "unsupported", value: unsupported.join(", ") }] }
  }
  const type = Message.contentType(request)
  const types = bodyTypes[request.method]
  const encoding = Message.header(request, "content-encoding")?.toLowerCase() ?? "identity"
  if (request.body.length > 0 && types !== undefined && type !== undefined) {
    if (encoding !== "identity") {
      return {
        status: 415,
        reason: "Unsupported Media Type",
        headers: [{ name: "accept-encoding", value: "identity" }]
      }
    }
    if (!types.includes(type)) {
      return {
        status: 415,
        reason: "Unsupported Media Type",
        headers: [{ name: "accept", value: types.join(", ") }]
      }
    }
  }
  const accepted = Message.tokens(request, "accept")
  return request.method === "INVITE" && accepted.length > 0 && !isAccepted(accepted)
    ? { status: 406, reason: "Not Acceptable", headers: [{ name: "accept", value: "application/sdp" }] }
    : undefined
}

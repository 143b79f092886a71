import * as NameAddr from "./NameAddr.ts"
import { decimal, isToken, split } from "./Syntax.ts"
import * as Via from "./Via.ts"

/** A header field. `name` is in lower case and the long form; `value` is unfolded and trimmed, otherwise as written. */
export interface Header {
  readonly name: string
  readonly value: string
}

export type Headers = ReadonlyArray<Header>

export interface Request {
  readonly _tag: "Request"
  readonly method: string
  /** The Request-URI, as written. */
  readonly uri: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** A request of ours whose first router is strict: it goes to its Request-URI, not to its first Route (RFC 3261, 8.1.2). */
  readonly isStrictlyRouted?: true
}

export interface Response {
  readonly _tag: "Response"
  readonly status: number
  readonly reason: string
  readonly headers: Headers
  readonly body: Uint8Array
}

export type Message = Request | Response

const compact: { readonly [letter: string]: string } = {
  a: "accept-contact",
  b: "referred-by",
  c: "content-type",
  d: "request-disposition",
  e: "content-encoding",
  f: "from",
  i: "call-id",
  j: "reject-contact",
  k: "supported",
  l: "content-length",
  m: "contact",
  o: "event",
  r: "refer-to",
  s: "subject",
  t: "to",
  u: "allow-events",
  v: "via",
  x: "session-expires",
  y: "identity"
}

/** A header's name in lower case and the long form. */
export const headerName = (written: string): string => {
  const name = written.toLowerCase()
  return name.length === 1 ? (compact[name] ?? name) : name
}

export const noBody: Uint8Array = new Uint8Array(0)

/** The value of the first header of this name (lower case, long form). */
export const header = (message: { readonly headers: Headers }, name: string): string | undefined =>
  message.headers.find((each) => each.name === name)?.value

/** The values of all headers of this name, as written. */
export const headers = (message: { readonly headers: Headers }, name: string): ReadonlyArray<string> =>
  message.headers.flatMap((each) => (each.name === name ? [each.value] : []))

/** The comma-separated values of all headers of this name; undefined when one is malformed. */
export const list = (message: { readonly headers: Headers }, name: string): ReadonlyArray<string> | undefined => {
  const all: Array<string> = []
  for (const value of headers(message, name)) {
    const parts = split(value, ",")
    if (parts === undefined) return undefined
    all.push(...parts)
  }
  return all
}

/** The tokens of a header such as Require, in lower case. */
export const tokens = (message: Message, name: string): ReadonlyArray<string> =>
  (list(message, name) ?? []).flatMap((each) => (each === "" ? [] : [each.toLowerCase()]))

const parsed = <A>(
  message: Message,
  name: string,
  parse: (text: string) => A | undefined
): ReadonlyArray<A> | undefined => {
  const all = list(message, name)
  if (all === undefined) return undefined
  const found: Array<A> = []
  for (const each of all) {
    const value = parse(each)
    if (value === undefined) return undefined
    found.push(value)
  }
  return found
}

/** The values of Via, the topmost first; undefined when one is malformed. */
export const vias = (message: Message): ReadonlyArray<Via.Via> | undefined => parsed(message, "via", Via.parse)

/** The values of Route, Record-Route, Contact, P-Asserted-Identity, Diversion; undefined when one is malformed. */
export const addresses = (message: Message, name: string): ReadonlyArray<NameAddr.NameAddr> | undefined =>
  parsed(message, name, NameAddr.parse)

/** The value of a header with one address: From, To, Refer-To. */
export const address = (message: Message, name: string): NameAddr.NameAddr | undefined => {
  const value = header(message, name)
  return value === undefined ? undefined : NameAddr.parse(value)
}

export interface CSeq {
  readonly number: number
  readonly method: string
}

/** The value of a CSeq header (RFC 3261, 20.16; its number is below 2^31). */
export const parseCSeq = (value: string): CSeq | undefined => {
  const [number = "", method = "", ...rest] = value.trim().split(/\s+/)
  const parsedNumber = decimal(number, 2 ** 31 - 1)
  return parsedNumber === undefined || !isToken(method) || rest.length > 0
    ? undefined
    : { number: parsedNumber, method }
}

export const cseq = (message: Message): CSeq | undefined => parseCSeq(header(message, "cseq") ?? "")

export const callId = (message: Message): string => header(message, "call-id") ?? ""

/** The media type of the body in lower case, without parameters: `application/sdp`. */
export const contentType = (message: { readonly headers: Headers }): string | undefined =>
  header(message, "content-type")
    ?.split(";", 1)[0]
    ?.toLowerCase()
    .split("/")
    .map((part) => part.trim())
    .join("/")

/** The session description in the body; undefined: there is none. A body without a type counts as one. */
export const description = (message: Message): Uint8Array | undefined => {
  const type = contentType(message)
  return message.body.length > 0 && (type === undefined || type === "application/sdp") ? message.body : undefined
}

/** The tag of From or To; undefined when there is none. */
export const tag = (message: Message, name: "from" | "to"): string | undefined =>
  address(message, name)?.params.find((each) => each.name.toLowerCase() === "tag")?.value

export const withHeader = <M extends Message>(message: M, name: string, value: string): M => ({
  ...message,
  headers: [...message.headers.filter((each) => each.name !== name), { name, value }]
})

import { contentLength, endOfHead, type Head, head, maxHeadBytes, maxMessageBytes, maxUriLength } from "./Lines.ts"
import * as Message from "./Message.ts"
import { decimal, isToken, paramOf } from "./Syntax.ts"
import * as Uri from "./Uri.ts"
import * as Via from "./Via.ts"

/**
 * What bytes from the network are. `Refused`: a malformed request that can be answered with `status`; `request` has the
 * headers that could be read. `Ignored`: nothing to answer, such as a malformed response or ACK.
 */
export type Parsed =
  | { readonly _tag: "Message"; readonly message: Message.Message }
  | { readonly _tag: "Refused"; readonly request: Message.Request; readonly status: number; readonly reason: string }
  | { readonly _tag: "Ignored"; readonly reason: string }

type StartLine =
  | { readonly _tag: "Request"; readonly method: string; readonly uri: string; readonly version: string }
  | { readonly _tag: "Response"; readonly status: number; readonly reason: string }
  /** A request whose line is malformed; the method is known. */
  | { readonly _tag: "Malformed"; readonly method: string }

const startLine = (line: string): StartLine | undefined => {
  const response = /^SIP\/2\.0 (\d{3})(?: ([\s\S]*))?$/i.exec(line)
  if (response !== null) {
    const status = Number(response[1])
    return status < 100 || status > 699 ? undefined : { _tag: "Response", status, reason: response[2] ?? "" }
  }
  if (/^SIP\//i.test(line)) return undefined
  const [method = "", uri = "", version = "", ...rest] = line.split(" ")
  if (!isToken(method)) return undefined
  if (rest.length > 0 || uri === "" || !/^SIP\/\d+\.\d+$/i.test(version)) return { _tag: "Malformed", method }
  return { _tag: "Request", method, uri, version: version.toUpperCase() }
}

const once: ReadonlyArray<string> = ["from", "to", "call-id", "cseq", "max-forwards", "content-length", "content-type"]

const callIdCharacters = /^[A-Za-z0-9\-.!%*_+`'~()<>:\\"/[\]?{}]+(?:@[A-Za-z0-9\-.!%*_+`'~()<>:\\"/[\]?{}]+)?$/

/** What is wrong with the headers that every message has; undefined: nothing. */
const headerFault = (message: Message.Message): string | undefined => {
  for (const name of once) {
    if (Message.headers(message, name).length > 1) return `There are several headers ${name}`
  }
  const vias = Message.vias(message)
  if (vias === undefined || vias.length === 0) return "Via is malformed"
  for (const name of ["from", "to"]) {
    if (Message.header(message, name) === undefined) return `There is no header ${name}`
    if (Message.address(message, name) === undefined) return `The header ${name} is malformed`
  }
  if (Message.header(message, "call-id") === undefined) return "There is no header call-id"
  if (!callIdCharacters.test(Message.callId(message))) return "The header call-id is malformed"
  const cseq = Message.cseq(message)
  if (cseq === undefined) return "The header cseq is missing or malformed"
  for (const name of ["contact", "route", "record-route"]) {
    if (Message.header(message, name) === "*" && name === "contact") continue
    if (Message.addresses(message, name) === undefined) return `The header ${name} is malformed`
  }
  return undefined
}

const known: ReadonlySet<string> = new Set(
  "INVITE ACK BYE CANCEL OPTIONS REGISTER PRACK UPDATE INFO REFER NOTIFY SUBSCRIBE MESSAGE PUBLISH".split(" ")
)

/** What is wrong with a request beyond its header lines; undefined: nothing. */
const requestFault = (request: Message.Request): string | undefined => {
  const uri = Uri.parse(request.uri)
  if (uri === undefined) return "The Request-URI is malformed"
  if (uri._tag === "Sip" && uri.headers.length > 0) return "The Request-URI has headers"
  // A method that is not known is answered with 501, whatever its CSeq says (RFC 4475, 3.1.2.18).
  if (known.has(request.method) && Message.cseq(request)?.method !== request.method) {
    return "The method of cseq is not that of the request"
  }
  const hops = Message.header(request, "max-forwards")
  if (hops !== undefined && decimal(hops, 255) === undefined) return "The header max-forwards is malformed"
  const branch = paramOf(Message.vias(request)?.[0]?.params ?? [], "branch")
  return branch !== undefined && /^z9hG4bK$/i.test(branch) ? "The branch of Via has no identifier" : undefined
}

const refusal = (request: Message.Request, status: number, reason: string): Parsed => {
  const via = Message.header(request, "via")
  if (request.method === "ACK") return { _tag: "Ignored", reason: `ACK: ${reason}` }
  // Via of another version names no place to answer to that we understand; the transport knows the source.
  const answerable = via !== undefined && (status === 505 || Via.parseSentBy(via) !== undefined)
  return answerable ? { _tag: "Refused", request, status, reason } : { _tag: "Ignored", reason }
}

const body = (
  bytes: Uint8Array,
  start: number,
  { headers }: Head,
  stream: boolean
): { readonly body: Uint8Array; readonly fault?: string; readonly status?: number } => {
  const available = bytes.length - start
  const length = contentLength(headers)
  if (length === "malformed") return { body: Message.noBody, fault: "The header content-length is malformed" }
  if (length === "missing") {
    return stream && available > 0
      ? { body: Message.noBody, fault: "There is no header content-length" }
      : { body: bytes.subarray(start) }
  }
  if (length > maxMessageBytes) {
    return { body: Message.noBody, fault: `The body is longer than ${maxMessageBytes} bytes`, status: 413 }
  }
  return length > available
    ? { body: Message.noBody, fault: "The body is shorter than content-length says" }
    : { body: bytes.subarray(start, start + length) }
}

/**
 * Parses one message: a datagram, or what `Framer` cut from a stream. Never throws. The body shares memory with `bytes`.
 * Of a datagram, what follows the body is dropped (RFC 3261, 18.3).
 */
export const parse = (bytes: Uint8Array, stream = false): Parsed => {
  const end = endOfHead(bytes)
  if (end < 0) return { _tag: "Ignored", reason: "No empty line ends the headers" }
  const lines = head(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(end - 4, maxHeadBytes)).toString("utf8"))
  const start = startLine(lines.startLine)
  if (start === undefined) return { _tag: "Ignored", reason: "The start line is neither a request nor a response" }
  const content = body(bytes, end, lines, stream)
  const { headers } = lines
  if (start._tag === "Response") {
    const { reason, status } = start
    const message: Message.Response = { _tag: "Response", status, reason, headers, body: content.body }
    const fault = lines.fault ?? content.fault ?? headerFault(message)
    return fault === undefined && end <= maxHeadBytes
      ? { _tag: "Message", message }
      : { _tag: "Ignored", reason: `Response: ${fault ?? "the headers are too long"}` }
  }
  const uri = start._tag === "Request" ? start.uri : ""
  const request: Message.Request = { _tag: "Request", method: start.method, uri, headers, body: content.body }
  if (start._tag === "Malformed") return refusal(request, 400, "The request line is malformed")
  if (start.version !== "SIP/2.0") return refusal(request, 505, "Version Not Supported")
  if (uri.length > maxUriLength) return refusal(request, 414, "Request-URI Too Long")
  if (end > maxHeadBytes) return refusal(request, 513, "Message Too Large")
  const fault = lines.fault ?? headerFault(request) ?? requestFault(request)
  if (fault !== undefined) return refusal(request, 400, fault)
  if (content.fault !== undefined) return refusal(request, content.status ?? 400, content.fault)
  return { _tag: "Message", message: request }
}

import { type Header, headerName } from "./Message.ts"
import { isToken } from "./Syntax.ts"

/** Bytes of the largest message that is read, headers and body together: what fits into one datagram. */
export const maxMessageBytes = 65_535
/** Bytes of a start line and all header fields. */
export const maxHeadBytes = 32_768
/** Characters of one header field, unfolded. */
export const maxHeaderLength = 8192
/** Characters of a Request-URI. */
export const maxUriLength = 2048
/** Header fields in one message. */
export const maxHeaders = 256

/** The index after the empty line that ends the header fields, or -1. It is searched from `from` on. */
export const endOfHead = (bytes: Uint8Array, from = 0): number => {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf("\r\n\r\n", from)
  return at < 0 ? -1 : at + 4
}

/** The number of CR and LF bytes at the start: keep-alives between messages (RFC 3261, 7.5; RFC 5626, 4.4.1). */
export const blankPrefix = (bytes: Uint8Array): number => {
  let at = 0
  while (bytes[at] === 13 || bytes[at] === 10) at++
  return at
}

const isBlank = (text: string, at: number): boolean => text[at] === " " || text[at] === "\t"

/** Without spaces and tabs around it. Other white space of Unicode belongs to a value. */
const trimBlanks = (text: string): string => {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text, start)) start++
  while (end > start && isBlank(text, end - 1)) end--
  return text.slice(start, end)
}

/** Start line and header fields of a message. */
export interface Head {
  readonly startLine: string
  readonly headers: ReadonlyArray<Header>
  /** The first thing that is wrong with the lines; the header fields are then those that could be read. */
  readonly fault: string | undefined
}

/** Splits start line and header fields, unfolds continuation lines, and expands compact names. */
export const head = (text: string): Head => {
  const unfolded = text.replace(/\r\n[ \t]+/g, " ")
  const [startLine = "", ...lines] = unfolded.split("\r\n")
  const headers: Array<Header> = []
  let fault: string | undefined
  if (/[\r\n]/.test(startLine)) fault = "CR or LF in the start line"
  for (const line of lines) {
    if (line === "") continue
    const colon = line.indexOf(":")
    const name = trimBlanks(line.slice(0, Math.max(colon, 0)))
    const value = trimBlanks(line.slice(colon + 1))
    if (!isToken(name)) fault ??= "A header line has no valid name"
    else if (/[\r\n]/.test(value)) fault ??= `CR or LF in the header ${name}`
    else if (value.length > maxHeaderLength) fault ??= `The header ${name} is longer than ${maxHeaderLength} characters`
    else if (headers.length === maxHeaders) fault ??= `There are more than ${maxHeaders} headers`
    else headers.push({ name: headerName(name), value })
  }
  return { startLine, headers, fault }
}

/** What Content-Length says: bytes, `missing`, or `malformed`, also when several say different things. */
export const contentLength = (headers: ReadonlyArray<Header>): number | "missing" | "malformed" => {
  const values = headers.flatMap((each) => (each.name === "content-length" ? [each.value] : []))
  const [first, ...others] = values
  if (first === undefined) return "missing"
  return others.length > 0 || !/^\d{1,9}$/.test(first) ? "malformed" : Number(first)
}

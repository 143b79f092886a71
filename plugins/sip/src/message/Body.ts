import { head } from "./Lines.ts"
import type { Headers, Message } from "./Message.ts"
import * as Messages from "./Message.ts"
import { paramOf, params } from "./Syntax.ts"

const sdp = "application/sdp"

/** The types of bodies that are understood, by the method; bodies of other methods are not read. */
export const bodyTypes: { readonly [method: string]: ReadonlyArray<string> } = {
  INVITE: [sdp],
  UPDATE: [sdp],
  PRACK: [sdp],
  ACK: [sdp],
  INFO: ["application/dtmf-relay", "application/dtmf"],
  NOTIFY: ["message/sipfrag"]
}

/** How deep a body may be nested in others. */
const maxDepth = 3

/** The parameters of a header such as `multipart/mixed;boundary=b`. */
const paramsOf = (value: string) => {
  const from = value.indexOf(";")
  return from < 0 ? [] : (params(value.slice(from)) ?? [])
}

/** Bodies with their headers, as a message has them. */
interface Part {
  readonly headers: Headers
  readonly body: Uint8Array
}

/** The parts of a multipart body (RFC 2046, 5.1.1). */
const partsOf = ({ body, headers }: Part): ReadonlyArray<Part> => {
  const boundary = paramOf(paramsOf(Messages.header({ headers }, "content-type") ?? ""), "boundary")
  if (boundary === undefined || boundary === "") return []
  // Each byte is one character.
  const text = `\r\n${Buffer.from(body).toString("latin1")}`
  const found: Array<Part> = []
  for (const each of text.split(`\r\n--${boundary}`).slice(1)) {
    if (each.startsWith("--")) break
    const [start = "", ...lines] = each.split("\r\n\r\n")
    found.push({ headers: head(start).headers, body: Buffer.from(lines.join("\r\n\r\n"), "latin1") })
  }
  return found
}

const isPlain = (part: Part): boolean =>
  ["7bit", "8bit", "binary"].includes(Messages.header(part, "content-transfer-encoding")?.toLowerCase() ?? "binary")

/** The first session description in a multipart body, also in a part that has parts. */
const descriptionIn = (part: Part, depth: number): Uint8Array | undefined => {
  const type = Messages.contentType(part)
  if (type === sdp) return isPlain(part) ? part.body : undefined
  if (type?.startsWith("multipart/") !== true || depth === maxDepth) return undefined
  for (const each of partsOf(part)) {
    const found = descriptionIn(each, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const isOptional = (message: Message): boolean =>
  paramOf(paramsOf(Messages.header(message, "content-disposition") ?? ""), "handling")?.toLowerCase() === "optional"

/**
 * A message with the body that is meant for us: of a multipart body its session description (RFC 5621), and none instead of
 * one that may be ignored (`handling=optional`, RFC 3261, 20.11) and is not understood.
 */
export const plain = <M extends Message>(message: M): M => {
  const type = Messages.contentType(message)
  if (message.body.length === 0 || type === undefined) return message
  const types = bodyTypes[message._tag === "Request" ? message.method : (Messages.cseq(message)?.method ?? "")] ?? []
  if (types.includes(type)) return message
  const headers = message.headers.filter(({ name }) => name !== "content-type" && name !== "content-disposition")
  const description = types.includes(sdp) ? descriptionIn(message, 0) : undefined
  if (description !== undefined) {
    return { ...message, headers: [...headers, { name: "content-type", value: sdp }], body: description }
  }
  return isOptional(message) ? { ...message, headers, body: Messages.noBody } : message
}

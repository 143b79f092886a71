import type { Message } from "./Message.ts"

const special: { readonly [name: string]: string } = {
  "call-id": "Call-ID",
  cseq: "CSeq",
  "www-authenticate": "WWW-Authenticate",
  rack: "RAck",
  rseq: "RSeq",
  "min-se": "Min-SE",
  "mime-version": "MIME-Version"
}

const writtenName = (name: string): string =>
  special[name] ?? name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())

/** No line break of a value reaches the wire, so that a value cannot add headers. */
const oneLine = (text: string): string => text.replace(/[\r\n]+/g, " ")

/** The bytes of a message. Content-Length is that of the body, whatever the headers say. */
export const serialize = (message: Message): Uint8Array => {
  const start =
    message._tag === "Request"
      ? `${message.method} ${message.uri} SIP/2.0`
      : `SIP/2.0 ${message.status} ${message.reason}`
  let text = `${oneLine(start)}\r\n`
  for (const { name, value } of message.headers) {
    if (name !== "content-length") text += `${writtenName(name)}: ${oneLine(value)}\r\n`
  }
  text += `Content-Length: ${message.body.length}\r\n\r\n`
  return message.body.length === 0 ? Buffer.from(text) : Buffer.concat([Buffer.from(text), message.body])
}

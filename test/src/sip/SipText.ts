/** A SIP message (RFC 3261, 7) as a phone of the tests reads it: without folded lines and compact names. */
export interface SipText {
  readonly start: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string
}

export const readSip = (text: string): SipText => {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const [start = "", ...lines] = head.split("\r\n")
  const headers = lines.map((line) => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { start, headers, body: rest.join("\r\n\r\n") }
}

export const writeSip = ({ body, headers, start }: SipText): string =>
  [start, ...headers.map(([name, value]) => `${name}: ${value}`), `content-length: ${body.length}`, "", body].join(
    "\r\n"
  )

/** The first header of this name; empty: there is none. */
export const headerOf = ({ headers }: SipText, name: string): string =>
  headers.find(([each]) => each === name)?.[1] ?? ""

/** The status of a response; undefined: it is a request. */
export const statusOf = ({ start }: SipText): number | undefined => {
  const status = /^SIP\/2\.0 (\d{3})/.exec(start)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** Of a request, or of the request that a response answers. */
export const methodOf = (message: SipText): string => headerOf(message, "cseq").split(" ")[1] ?? ""

/** The address between `<` and `>`, or all of it. */
export const addressOf = (header: string): string => /<([^>]*)>/.exec(header)?.[1] ?? header.split(";")[0] ?? ""

/** Where the audio of a session description goes to; undefined: there is none. */
export const mediaOf = (body: string): { readonly address: string; readonly port: number } | undefined => {
  const address = /^c=IN IP[46] (\S+)/m.exec(body)?.[1]
  const port = /^m=audio (\d+)/m.exec(body)?.[1]
  return address === undefined || port === undefined || port === "0" ? undefined : { address, port: Number(port) }
}

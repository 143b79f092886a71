import { blankPrefix, contentLength, endOfHead, head, maxHeadBytes, maxMessageBytes } from "./Lines.ts"

/**
 * What a stream held. `Message`: the bytes of one message for `Parser.parse`. `Ping`: two empty lines between messages, to
 * be answered with one (RFC 5626, 4.4.1). `Broken`: the stream cannot be read any further; `bytes` is the message that
 * broke it, as far as it came, to be answered before the connection is closed.
 */
export type Framed =
  | { readonly _tag: "Message"; readonly bytes: Uint8Array }
  | { readonly _tag: "Ping" }
  | { readonly _tag: "Broken"; readonly bytes: Uint8Array }

/** Bytes of a stream that no complete message has ended yet. */
export type Pending = Uint8Array

export const empty: Pending = new Uint8Array(0)

/** Cuts messages from a stream. The bytes of what it returns are copies. */
export const push = (pending: Pending, chunk: Uint8Array): readonly [Pending, ReadonlyArray<Framed>] => {
  let rest: Uint8Array = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
  const framed: Array<Framed> = []
  for (;;) {
    const blank = blankPrefix(rest)
    for (let pings = Math.floor(blank / 4); pings > 0; pings--) framed.push({ _tag: "Ping" })
    // One line break alone may be half of a ping.
    rest = rest.subarray(blank === rest.length ? blank - (blank % 4) : blank)
    const end = endOfHead(rest)
    if (end < 0 && rest.length <= maxHeadBytes) return [rest.slice(), framed]
    if (end < 0 || end > maxHeadBytes) return [empty, [...framed, { _tag: "Broken", bytes: rest.slice() }]]
    const length = contentLength(head(Buffer.from(rest.subarray(0, end - 4)).toString("utf8")).headers)
    if (typeof length !== "number" || end + length > maxMessageBytes) {
      return [empty, [...framed, { _tag: "Broken", bytes: rest.slice() }]]
    }
    if (rest.length < end + length) return [rest.slice(), framed]
    framed.push({ _tag: "Message", bytes: rest.slice(0, end + length) })
    rest = rest.subarray(end + length)
  }
}

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

const empty = new Uint8Array(0)

/** Whether a line may begin a request or a response of SIP, of any version and well-formed or not (RFC 3261, 7.1 and 7.2). */
const isSipStart = (line: string): boolean => /^SIP\/\d+\.\d+ |\sSIP\/\d+\.\d+\s*$/i.test(line)

/**
 * Cuts messages from a stream. Its work grows with the bytes of the stream, also when they come one by one: each byte is
 * searched once for the end of the header fields, and copied a few times at most.
 */
export class Framer {
  /** Holds the bytes that no complete message has ended yet, and has room for more. */
  #buffer: Uint8Array = empty
  #waiting = 0
  /** Waiting bytes in which the header fields do not end. */
  #searched = 0
  /** Bytes of the message that has begun; 0: its header fields have not ended. */
  #messageBytes = 0

  /** Bytes that no complete message has ended yet. */
  get waiting(): number {
    return this.#waiting
  }

  /** Whether a message has begun and is not complete. */
  get isInMessage(): boolean {
    return this.#waiting > 0 && blankPrefix(this.#buffer) === 0
  }

  /** Takes what came. The bytes of what it returns are copies. */
  push(chunk: Uint8Array): ReadonlyArray<Framed> {
    let rest = this.#waiting === 0 ? chunk : this.#append(chunk)
    const framed: Array<Framed> = []
    const broken = (): ReadonlyArray<Framed> => {
      framed.push({ _tag: "Broken", bytes: new Uint8Array(rest) })
      this.#keep(empty, 0)
      return framed
    }
    for (;;) {
      if (this.#messageBytes === 0) {
        const blank = blankPrefix(rest)
        for (let pings = Math.floor(blank / 4); pings > 0; pings--) framed.push({ _tag: "Ping" })
        // One line break alone may be half of a ping.
        rest = rest.subarray(blank === rest.length ? blank - (blank % 4) : blank)
        // The last three bytes may be the beginning of an empty line.
        const end = endOfHead(rest, blank > 0 ? 0 : Math.max(0, this.#searched - 3))
        if (end < 0 && rest.length <= maxHeadBytes) {
          this.#keep(rest, rest.length)
          return framed
        }
        if (end < 0 || end > maxHeadBytes) return broken()
        const { headers, startLine } = head(Buffer.from(rest.subarray(0, end - 4)).toString("utf8"))
        if (!isSipStart(startLine)) return broken()
        const length = contentLength(headers)
        if (typeof length !== "number" || end + length > maxMessageBytes) return broken()
        this.#messageBytes = end + length
      }
      if (rest.length < this.#messageBytes) {
        this.#keep(rest, 0)
        return framed
      }
      framed.push({ _tag: "Message", bytes: new Uint8Array(rest.subarray(0, this.#messageBytes)) })
      rest = rest.subarray(this.#messageBytes)
      this.#messageBytes = 0
      this.#searched = 0
    }
  }

  /** The waiting bytes and these. */
  #append(chunk: Uint8Array): Uint8Array {
    const size = this.#waiting + chunk.length
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#buffer.length))
      larger.set(this.#buffer.subarray(0, this.#waiting))
      this.#buffer = larger
    }
    this.#buffer.set(chunk, this.#waiting)
    return this.#buffer.subarray(0, size)
  }

  #keep(rest: Uint8Array, searched: number): void {
    const isKept = rest.buffer === this.#buffer.buffer && rest.byteOffset === this.#buffer.byteOffset
    if (rest.length === 0) this.#buffer = empty
    else if (!isKept) this.#buffer = new Uint8Array(rest)
    this.#waiting = rest.length
    this.#searched = searched
  }
}

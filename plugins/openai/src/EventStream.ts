/** The longest line that is accepted, in UTF-16 units: a longer one is no stream of events. */
const longestLine = 1_000_000

/**
 * Reads a stream of server-sent events that may be cut at any byte, with any line ends. Of each event only the data is
 * returned, which is all that these servers send; comments and other fields are ignored.
 */
export class EventStream {
  readonly #decoder = new TextDecoder()
  #rest = ""
  #data: Array<string> = []
  #afterReturn = false

  /** The data of the events that are complete with these bytes; undefined if it is no such stream. */
  push(bytes: Uint8Array): ReadonlyArray<string> | undefined {
    return this.#lines(this.#decoder.decode(bytes, { stream: true }))
  }

  /** The data of the last event, at the end of a stream that lacks its empty line. */
  end(): ReadonlyArray<string> {
    const events = this.#lines(`${this.#decoder.decode()}\n`) ?? []
    return [...events, ...this.#dispatch()]
  }

  #lines(text: string): ReadonlyArray<string> | undefined {
    const events: Array<string> = []
    let line = this.#rest
    for (const part of text.split(/(\r\n|\r|\n)/)) {
      if (part === "") continue
      const isEnd = part === "\r\n" || part === "\r" || part === "\n"
      // The second half of a CRLF that was cut in the middle.
      if (part === "\n" && line === "" && this.#afterReturn) {
        this.#afterReturn = false
        continue
      }
      this.#afterReturn = part === "\r"
      if (!isEnd) line += part
      else {
        events.push(...this.#line(line))
        line = ""
      }
    }
    this.#rest = line
    return line.length > longestLine ? undefined : events
  }

  #line(line: string): ReadonlyArray<string> {
    if (line === "") return this.#dispatch()
    if (line === "data" || line.startsWith("data:")) {
      const value = line.slice(5)
      this.#data.push(value.startsWith(" ") ? value.slice(1) : value)
    }
    return []
  }

  #dispatch(): ReadonlyArray<string> {
    const data = this.#data
    this.#data = []
    return data.length === 0 ? [] : [data.join("\n")]
  }
}

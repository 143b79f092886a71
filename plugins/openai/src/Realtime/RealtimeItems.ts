/** A stretch of speech whose transcript is complete. */
export interface FinishedItem {
  readonly text: string
  /** The end of its audio, in milliseconds of the audio pushed. */
  readonly end: number
  /** What was detected. */
  readonly language?: string
}

interface Item {
  /** Of the message that committed it. */
  readonly commit: string
  readonly end: number
  /** When it was committed, or its last text came. In milliseconds. */
  at: number
  /** The server's id; undefined until it has answered. */
  id?: string
  finished?: FinishedItem
}

/** Characters of the texts of items that are not finished: no speech has so many. */
const mostCharacters = 100_000

/**
 * The items of a transcription session: stretches of speech, in the order in which they were committed, whatever the order
 * in which the server transcribes them. Each is answered once; what comes again is ignored.
 */
export class RealtimeItems {
  readonly #pending: Array<Item> = []
  /** The texts of items that are not finished, also of the one that is not committed yet, by their ids. */
  readonly #texts = new Map<string, string>()
  readonly #finished = new Set<string>()
  #characters = 0

  /** Whether nothing is transcribed. */
  get isEmpty(): boolean {
    return this.#pending.length === 0
  }

  /** When the oldest item was committed, or its last text came; undefined when there is none. */
  get waitingSince(): number | undefined {
    return this.#pending[0]?.at
  }

  /** What was sent until now is an item, which ends at `end`. */
  commit(commit: string, end: number, now: number): void {
    this.#pending.push({ commit, end, at: now })
  }

  /** The server has given an id to the oldest item without one. */
  committed(id: string): void {
    if (this.#finished.has(id) || this.#pending.some((item) => item.id === id)) return
    const item = this.#pending.find((item) => item.id === undefined)
    if (item !== undefined) item.id = id
  }

  /** The server refused a commit: its item does not exist. Returns whether there was one. */
  refused(commit: string): boolean {
    const at = this.#pending.findIndex((item) => item.commit === commit)
    const id = this.#pending[at]?.id
    if (at < 0) return false
    if (id !== undefined) this.#texts.delete(id)
    this.#pending.splice(at, 1)
    return true
  }

  /** More text of an item. Throws when a server sends more text than a stretch of speech can have. */
  add(id: string, text: string, now: number): void {
    if (this.#finished.has(id)) return
    this.#characters += text.length
    if (this.#characters > mostCharacters)
      throw new RangeError(`more than ${mostCharacters} characters of partial text`)
    this.#texts.set(id, (this.#texts.get(id) ?? "") + text)
    const item = this.#pending.find((item) => item.id === id)
    if (item !== undefined) item.at = now
  }

  /** The transcript of an item is complete. */
  complete(id: string, transcript: Omit<FinishedItem, "end">): void {
    if (this.#finished.has(id)) return
    // A server that does not tell the ids of commits answers them in order.
    const item = this.#pending.find((item) => item.id === id) ?? this.#pending.find((item) => item.id === undefined)
    if (item === undefined) return
    item.id = id
    item.finished = { ...transcript, end: item.end }
    this.#finished.add(id)
    this.#characters -= this.#texts.get(id)?.length ?? 0
    this.#texts.delete(id)
  }

  /** The finished items at the head, which are taken away. */
  take(): ReadonlyArray<FinishedItem> {
    const taken: Array<FinishedItem> = []
    for (let first = this.#pending[0]?.finished; first !== undefined; first = this.#pending[0]?.finished) {
      taken.push(first)
      this.#pending.shift()
    }
    return taken
  }

  /** The words so far of all items that were not taken. */
  partial(): string {
    const pending = this.#pending.map(({ finished, id = "" }) => finished?.text ?? this.#texts.get(id) ?? "")
    const ids = new Set(this.#pending.map(({ id }) => id))
    const open = [...this.#texts].flatMap(([id, text]) => (ids.has(id) ? [] : [text]))
    return [...pending, ...open]
      .map((text) => text.trim())
      .filter((text) => text !== "")
      .join(" ")
  }
}

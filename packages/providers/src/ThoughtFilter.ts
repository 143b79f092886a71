const opening = /<(think|thinking)>/i
const tags = ["<think>", "<thinking>"]

/** How many characters at the end of a text may be the beginning of one of these tags. */
const beginningOf = (tags: ReadonlyArray<string>, text: string): number => {
  const longest = Math.max(...tags.map((tag) => tag.length)) - 1
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const end = text.slice(-length).toLowerCase()
    if (tags.some((tag) => tag.startsWith(end))) return length
  }
  return 0
}

/**
 * Takes out of a model's stream what it thinks: the text between `<think>` and `</think>`, or `<thinking>` and
 * `</thinking>`, as models with open weights send it, and the white space after it. A tag may be cut anywhere by the
 * stream. A thought without an end is dropped to the end of the answer.
 */
export class ThoughtFilter {
  #kept = ""
  /** The tag that ends the thought; undefined: it is no thought. */
  #close: string | undefined
  #afterThought = false

  /** Adds text of the model and returns what is not a thought, as far as that is certain. */
  push(text: string): string {
    let left = this.#kept + text
    let out = ""
    for (;;) {
      const close = this.#close
      const found = close === undefined ? opening.exec(left) : new RegExp(close, "i").exec(left)
      if (found === null) {
        const kept = beginningOf(close === undefined ? tags : [close], left)
        this.#kept = left.slice(left.length - kept)
        return out + this.#spoken(left.slice(0, left.length - kept))
      }
      out += this.#spoken(left.slice(0, found.index))
      left = left.slice(found.index + found[0].length)
      this.#afterThought = close !== undefined
      this.#close = close === undefined ? `</${found[1]?.toLowerCase()}>` : undefined
    }
  }

  /** The rest when the model is done: a beginning of a tag that was none. */
  end(): string {
    const rest = this.#spoken(this.#kept)
    this.#kept = ""
    return rest
  }

  #spoken(text: string): string {
    if (this.#close !== undefined) return ""
    if (!this.#afterThought) return text
    const rest = text.trimStart()
    if (rest !== "") this.#afterThought = false
    return rest
  }
}

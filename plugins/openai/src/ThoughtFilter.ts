const open = "<think>"
const close = "</think>"

/** How many characters at the end of a text may be the beginning of a tag. */
const beginningOf = (tag: string, text: string): number => {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length).toLowerCase())) return length
  }
  return 0
}

/** Takes `<think>…</think>` out of a text that comes in pieces, and the white space after it. */
export class ThoughtFilter {
  #kept = ""
  #isThinking = false
  #afterThought = false

  /** What of the text so far is certainly no thought. */
  push(text: string): string {
    let left = this.#kept + text
    let out = ""
    for (;;) {
      const tag = this.#isThinking ? close : open
      const at = left.toLowerCase().indexOf(tag)
      if (at === -1) {
        const kept = beginningOf(tag, left)
        this.#kept = left.slice(left.length - kept)
        return out + (this.#isThinking ? "" : this.#spoken(left.slice(0, left.length - kept)))
      }
      if (!this.#isThinking) out += this.#spoken(left.slice(0, at))
      left = left.slice(at + tag.length)
      this.#isThinking = !this.#isThinking
      this.#afterThought = !this.#isThinking
    }
  }

  /** The rest at the end: the beginning of a tag that was none. */
  end(): string {
    const rest = this.#isThinking ? "" : this.#spoken(this.#kept)
    this.#kept = ""
    return rest
  }

  #spoken(text: string): string {
    if (!this.#afterThought) return text
    const rest = text.trimStart()
    if (rest !== "") this.#afterThought = false
    return rest
  }
}

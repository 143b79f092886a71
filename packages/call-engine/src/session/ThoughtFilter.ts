/**
 * Takes out of a model's stream what it thinks: the text between `<think>` and `</think>`, as models with open weights send
 * it. A tag may be cut anywhere by the stream. A thought without an end is dropped to the end of the answer.
 */

const tags = { open: "<think>", close: "</think>" }

export class ThoughtFilter {
  private buffer = ""
  private thinking = false

  /** Adds text of the model and returns what is not a thought, as far as that is certain. */
  push(text: string): string {
    this.buffer += text
    let out = ""
    for (;;) {
      const tag = this.thinking ? tags.close : tags.open
      const at = this.buffer.toLowerCase().indexOf(tag)
      if (at === -1) break
      if (!this.thinking) out += this.buffer.slice(0, at)
      this.buffer = this.buffer.slice(at + tag.length)
      this.thinking = !this.thinking
    }
    const kept = this.beginningOfTag()
    const certain = this.buffer.slice(0, this.buffer.length - kept)
    this.buffer = this.buffer.slice(this.buffer.length - kept)
    return this.thinking ? out : out + certain
  }

  /** The rest when the model is done: a beginning of a tag that was none. */
  rest(): string {
    const rest = this.thinking ? "" : this.buffer
    this.buffer = ""
    return rest
  }

  /** How many characters at the end of the buffer may be the beginning of the next tag. */
  private beginningOfTag(): number {
    const tag = this.thinking ? tags.close : tags.open
    const end = this.buffer.slice(-tag.length + 1).toLowerCase()
    for (let from = 0; from < end.length; from++) if (tag.startsWith(end.slice(from))) return end.length - from
    return 0
  }
}

/**
 * Splits the model's text into sentences as it streams, so that speech starts before the model is done. A sentence ends
 * at `.`, `!`, `?`, `…`, or at a line break; not after an abbreviation or an initial, and not before it is long enough
 * for a request of its own.
 */

const shortest = 8
/** Text without an end is cut at a comma or space before this many characters. */
const longest = 240

const abbreviations: ReadonlySet<string> = new Set(
  (
    "mr mrs ms dr prof sr jr st no vs etc e.g i.e a.m p.m approx dept inc ltd co " +
    "bijv dhr mevr nr tel o.a d.w.z " +
    "hr fr z.b usw bzw ca str " +
    "m mme mlle av sra sres ud uds pág núm dra dott sig ing art pan np dr hab bl.a f.eks"
  ).split(" ")
)

const isAbbreviation = (text: string): boolean => {
  const word = /([\p{L}.]+)\.$/u.exec(text)?.[1]?.toLowerCase() ?? ""
  return abbreviations.has(word) || /^\p{L}$/u.test(word)
}

export class SentenceSplitter {
  private buffer = ""

  /** Adds text and returns the sentences that are complete now. */
  push(text: string): ReadonlyArray<string> {
    this.buffer = (this.buffer + text).trimStart()
    const sentences: Array<string> = []
    for (let end = this.boundary(); end > 0; end = this.boundary()) {
      const sentence = this.buffer.slice(0, end).trim()
      this.buffer = this.buffer.slice(end).trimStart()
      if (sentence !== "") sentences.push(sentence)
    }
    return sentences
  }

  /** The rest when the model is done, or null. */
  rest(): string | null {
    const rest = this.buffer.trim()
    this.buffer = ""
    return rest === "" ? null : rest
  }

  /** The position after the first complete sentence, or 0. */
  private boundary(): number {
    const ends = /[.!?…]+["'”’»)\]]*(?=\s)|\n+/gu
    for (let match = ends.exec(this.buffer); match !== null; match = ends.exec(this.buffer)) {
      const end = match.index + match[0].length
      // Sentences must not depend on how the text is chunked: one this long has been cut by now.
      if (end > longest) break
      const sentence = this.buffer.slice(0, end)
      if (sentence.trim().length < shortest) continue
      if (match[0] === "." && isAbbreviation(sentence)) continue
      return end
    }
    if (this.buffer.length <= longest) return 0
    const comma = this.buffer.lastIndexOf(", ", longest - 1)
    if (comma > shortest) return comma + 1
    const space = this.buffer.lastIndexOf(" ", longest)
    if (space > shortest) return space + 1
    // Not between the halves of a surrogate pair.
    return /[\uD800-\uDBFF]/.test(this.buffer.charAt(longest - 1)) ? longest - 1 : longest
  }
}

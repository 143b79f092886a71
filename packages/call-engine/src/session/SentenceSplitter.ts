/**
 * Splits the model's text into sentences as it streams, so that speech starts before the model is done. A sentence ends
 * at `.`, `!`, `?`, `…`, or at a line break; not after an abbreviation, an initial or the number of a list, and not before it
 * is long enough for a request of its own. In scripts without spaces it ends at their own marks. The first clause of a
 * text that comes in several chunks is returned on its own, so that the voice begins with it.
 */

/** A sentence or clause of the model's text. */
export interface Piece {
  readonly text: string
  /** The white space between it and the piece before; empty before the first. */
  readonly space: string
}

/** The end of a sentence, with white space. */
const endOfSentence = /[.!?…。！？｡]["'”’»」』）)\]]*\s*$/

const shortest = 8
/** The first clause has so many words at least, or so many characters. */
const clauseWords = 4
const clauseCharacters = 20
/** Text without an end is cut at a comma or space before this many characters. */
const longest = 240
/** White space that is kept between two pieces, in characters. */
const longestSpace = 100

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

/** The number of a list: at the beginning of a line, or after a colon. */
const isListNumber = (text: string): boolean => /(?:^|\n|:\s*)\d{1,2}\.$/.test(text)

/** Letters of scripts that are written without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu

/** The length of a text in letters of an alphabet: one letter of another script says as much as several. */
const weight = (text: string): number => text.trim().length + 1.5 * (text.match(unspaced)?.length ?? 0)

/** The number of words, where two letters of a script without spaces count as one. */
const words = (text: string): number => {
  const letters = text.match(unspaced)?.length ?? 0
  return letters / 2 + (text.replace(unspaced, " ").match(/[\p{L}\p{N}]+(?:['’.-][\p{L}\p{N}]+)*/gu)?.length ?? 0)
}

const isClause = (text: string): boolean => words(text) >= clauseWords || weight(text) >= clauseCharacters

export class SentenceSplitter {
  private buffer = ""
  /** The white space before the buffer. */
  private space = ""
  private chunks = 0
  private isFirst = true
  /** The last piece ended a sentence or line. */
  private isWhole = false
  private readonly clauses: boolean

  /** `clauses`: whether the first clause is returned on its own. */
  constructor(clauses = true) {
    this.clauses = clauses
  }

  /** Adds text and returns the sentences that are complete now. */
  push(text: string): ReadonlyArray<Piece> {
    if (text !== "") this.chunks++
    this.keep(this.buffer + text)
    const sentences: Array<Piece> = []
    for (let end = this.boundary(); end > 0; end = this.boundary()) this.take(end, sentences)
    const clause = this.clauseEnd()
    if (clause > 0) this.take(clause, sentences)
    return sentences
  }

  /**
   * The rest when the model is done, or null. `isCut`: the model was stopped before its end. Then a sentence without an end
   * is left out after a whole one, and otherwise its last word, which may be half a word.
   */
  rest(isCut = false): Piece | null {
    const pieces: Array<Piece> = []
    this.take(isCut ? this.wholeEnd() : this.buffer.length, pieces)
    if (isCut) {
      this.buffer = ""
      this.space = ""
    }
    return pieces[0] ?? null
  }

  /** The position after the last word of the buffer that is whole for certain; 0: nothing is to be said of it. */
  private wholeEnd(): number {
    if (endOfSentence.test(this.buffer)) return this.buffer.length
    if (this.isWhole) return 0
    const end = this.buffer.search(/\S*$/)
    return end > 0 ? end : this.buffer.length
  }

  /** Takes a sentence. The white space after it is that before the next one. */
  private take(end: number, sentences: Array<Piece>): void {
    const text = this.buffer.slice(0, end).trimEnd()
    if (text === "") return
    sentences.push({ text, space: this.isFirst ? "" : this.space })
    this.isFirst = false
    this.space = ""
    const rest = this.buffer.slice(text.length)
    this.isWhole = endOfSentence.test(text) || /^[^\S\n]*\n/.test(rest)
    this.keep(rest)
  }

  /** The buffer begins with what is no white space. */
  private keep(text: string): void {
    this.buffer = text.trimStart()
    this.space = (this.space + text.slice(0, text.length - this.buffer.length)).slice(0, longestSpace)
  }

  /** The position after the first clause, or 0. A model that gives its text as a whole has no use for it. */
  private clauseEnd(): number {
    if (!this.clauses || !this.isFirst || this.chunks < 2) return 0
    const ends = /[,;:](?=\s)|\s[–—-](?=\s)|[，、；：](?=[^\s])|(?<=\p{Script=Thai}) +(?=\p{Script=Thai})/gu
    for (let match = ends.exec(this.buffer); match !== null; match = ends.exec(this.buffer)) {
      const end = match.index + match[0].length
      if (isClause(this.buffer.slice(0, end))) return end
    }
    return 0
  }

  /** The position after the first complete sentence, or 0. */
  private boundary(): number {
    const ends = /[.!?…]+["'”’»)\]]*(?=\s)|[。！？｡]+["'”’」』）)]*(?=[^。！？｡"'”’」』）)])|\n+/gu
    for (let match = ends.exec(this.buffer); match !== null; match = ends.exec(this.buffer)) {
      const end = match.index + match[0].length
      // Sentences must not depend on how the text is chunked: one this long has been cut by now.
      if (end > longest) break
      const sentence = this.buffer.slice(0, end)
      if (weight(sentence) < shortest) continue
      if (match[0] === "." && (isAbbreviation(sentence) || isListNumber(sentence))) continue
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

/**
 * Cuts text into passages: what is searched, and what a language model gets to read. A passage has at most
 * {@link maxPassage} characters, ends where a section, a paragraph or a sentence does if it can, and begins with the last
 * sentence or two of the one before when both are of one section. Time and memory grow with the length of the text only,
 * whatever is in it. Lengths are in UTF-16 code units.
 */

/** A passage of a text, with the headings above it, outermost first and separated by ` > `, or null. */
export interface Passage {
  readonly heading: string | null
  readonly text: string
}

/** Most characters of a passage. */
export const maxPassage = 800
/** A passage this long ends before a paragraph that does not fit into it. */
const longEnough = 400
/** Most characters that a passage repeats of the one before. */
const maxOverlap = 200
/** Most sentences that a passage repeats of the one before. */
const overlapSentences = 2
/** A longer line is no heading. */
const maxTitle = 200
/** Most characters of the headings above a passage. */
const maxHeading = 1000
/** A shorter sentence is kept together with the next: it may be an abbreviation. */
const minSentence = 20
/** A paragraph is processed when it has this many characters, complete or not. */
const maxParagraph = 4000
/** Characters between two steps. */
const stepLength = 4096

interface Section {
  readonly level: number
  readonly title: string
}

/** A piece that is not divided any more, and what is between it and the piece before. */
interface Piece {
  readonly text: string
  readonly joiner: string
}

const isSpace = (unit: number): boolean =>
  unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xa0 || unit === 0x3000
/** `.`, `!`, `?`, `…` */
const isEnd = (unit: number): boolean => unit === 0x2e || unit === 0x21 || unit === 0x3f || unit === 0x2026
/** The full stop, exclamation mark and question mark of Chinese and Japanese, which no space follows. */
const isWideEnd = (unit: number): boolean => unit === 0x3002 || unit === 0xff01 || unit === 0xff1f
/** Quotation marks and brackets that close after the end of a sentence. */
const isCloser = (unit: number): boolean =>
  unit === 0x22 ||
  unit === 0x27 ||
  unit === 0x29 ||
  unit === 0x5d ||
  unit === 0xbb ||
  unit === 0x201d ||
  unit === 0x2019

/** The sentences of a paragraph. */
function* sentencesOf(paragraph: string): Generator<string> {
  let from = 0
  let at = 0
  while (at < paragraph.length) {
    const unit = paragraph.charCodeAt(at++)
    if (!isEnd(unit) && !isWideEnd(unit)) continue
    let wide = isWideEnd(unit)
    while (at < paragraph.length) {
      const next = paragraph.charCodeAt(at)
      if (!isEnd(next) && !isWideEnd(next) && !isCloser(next)) break
      wide ||= isWideEnd(next)
      at++
    }
    if (at - from < minSentence || !(wide || (at < paragraph.length && isSpace(paragraph.charCodeAt(at))))) continue
    yield paragraph.slice(from, at)
    from = at
  }
  if (from < paragraph.length) yield paragraph.slice(from)
}

/** The place itself, or the one before it when it is inside a surrogate pair. */
const outsideOfPair = (text: string, at: number): number =>
  at < text.length && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at

/** The first characters of a text, without half a surrogate pair at the end. */
export const cutTo = (text: string, characters: number): string => text.slice(0, outsideOfPair(text, characters))

/** The parts of a sentence that each fit into a passage, cut between words where there are any. */
function* partsOf(sentence: string): Generator<string> {
  let from = 0
  while (sentence.length - from > maxPassage) {
    const part = sentence.slice(from, from + maxPassage)
    const space = part.lastIndexOf(" ")
    const to = outsideOfPair(sentence, from + (space > maxPassage / 2 ? space : maxPassage))
    yield sentence.slice(from, to)
    from = to
  }
  yield sentence.slice(from)
}

/** Collects pieces of one section into passages. */
class Packer {
  #pieces: Array<Piece> = []
  #length = 0
  /** How many pieces the passage before does not have. */
  #fresh = 0

  /** Whether nothing was added since the last section began. */
  isEmpty = true

  /** A paragraph of this length follows. Returns the passage that ends before it. */
  beforeParagraph(length: number): string | undefined {
    return this.#length >= longEnough && this.#length + length > maxPassage ? this.end() : undefined
  }

  /** Adds a piece. Returns the passage that ends before it. */
  add(piece: Piece): string | undefined {
    let finished: string | undefined
    const added = piece.text.length + piece.joiner.length
    if (this.#length + added > maxPassage) {
      if (this.#fresh > 0) finished = this.#text()
      this.#keepOverlap(maxPassage - added)
    }
    this.#pieces.push(piece)
    this.#length += added
    this.#fresh++
    this.isEmpty = false
    return finished
  }

  /** Ends the passage; the next repeats nothing of it. */
  end(): string | undefined {
    const finished = this.#fresh > 0 ? this.#text() : undefined
    this.#keepOverlap(0)
    return finished
  }

  #text(): string {
    return this.#pieces.map(({ joiner, text }, index) => (index === 0 ? text : joiner + text)).join("")
  }

  #keepOverlap(room: number): void {
    let first = this.#pieces.length
    let length = 0
    while (first > Math.max(0, this.#pieces.length - overlapSentences)) {
      const { joiner, text } = this.#pieces[first - 1] ?? { joiner: "", text: "" }
      if (length + joiner.length + text.length > Math.min(room, maxOverlap)) break
      length += joiner.length + text.length
      first--
    }
    this.#pieces = this.#pieces.slice(first)
    this.#length = length
    this.#fresh = 0
  }
}

/** The heading of a Markdown line `## Title ##`. */
const headingOf = (line: string): Section | undefined => {
  let level = 0
  while (line.charCodeAt(level) === 0x23) level++
  if (level === 0 || level > 6 || line.length > maxTitle || !isSpace(line.charCodeAt(level))) return undefined
  const title = line
    .slice(level)
    .replace(/#{1,6}$/, "")
    .trim()
  return title === "" ? undefined : { level, title }
}

/** The level that a line of `=` or `-` gives to the line above it. */
const underlineLevel = (line: string): number | undefined => {
  if (line.length < 3 || line.length > maxTitle) return undefined
  if (/^=+$/.test(line)) return 1
  return /^-+$/.test(line) ? 2 : undefined
}

/** A line of a list or a table, which is kept apart from the line above it. */
const isItem = (line: string): boolean => /^(?:[-*+•|]|[0-9]{1,3}[.)]\s)/.test(line)

/**
 * Cuts plain text or Markdown. `context` is a heading above the whole text. Yields undefined after each 4096 characters
 * or so, so that the caller may let other work run.
 */
export function* cutText(text: string, context: string | null = null): Generator<Passage | undefined> {
  const packer = new Packer()
  let sections: ReadonlyArray<Section> = []
  let lines: Array<string> = []
  let paragraphLength = 0
  let joiner = "\n\n"
  let isCode = false
  let step = 0

  const passage = (body: string, above: ReadonlyArray<Section> = sections): Passage => {
    // A page's title is often its first heading too.
    const titles = above.map(({ title }) => title).filter((title) => title !== context)
    const path = [...(context === null ? [] : [context]), ...titles].join(" > ")
    return { heading: path === "" ? null : cutTo(path, maxHeading), text: body }
  }

  function* endParagraph(): Generator<Passage> {
    if (lines.length === 0) return
    const paragraph = lines.join("\n")
    lines = []
    paragraphLength = 0
    const finished = packer.beforeParagraph(paragraph.length)
    if (finished !== undefined) yield passage(finished)
    for (const sentence of sentencesOf(paragraph)) {
      for (const part of partsOf(sentence)) {
        const body = part.trim().replace(/[^\S\n]+/g, " ")
        if (body === "") continue
        const ended = packer.add({ text: body, joiner })
        if (ended !== undefined) yield passage(ended)
        joiner = " "
      }
    }
  }

  /** Ends a section that a heading of this level follows; 0 at the end of the text. */
  function* endSection(nextLevel: number): Generator<Passage> {
    yield* endParagraph()
    const finished = packer.end()
    if (finished !== undefined) yield passage(finished)
    const last = sections.at(-1)
    // A heading with nothing below it is still something to find.
    if (packer.isEmpty && last !== undefined && nextLevel <= last.level) {
      yield passage(last.title, sections.slice(0, -1))
    }
    packer.isEmpty = true
  }

  function* begin(section: Section): Generator<Passage> {
    yield* endSection(section.level)
    sections = [...sections.filter(({ level }) => level < section.level), section]
    joiner = "\n\n"
  }

  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; ) {
    const newline = text.indexOf("\n", at)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(at, end).trim()
    step += end + 1 - at
    at = end + 1
    if (step >= stepLength) {
      step = 0
      yield undefined
    }
    if (line.startsWith("```") || line.startsWith("~~~")) {
      yield* endParagraph()
      joiner = "\n\n"
      isCode = !isCode
      continue
    }
    if (line === "") {
      yield* endParagraph()
      joiner = "\n\n"
      continue
    }
    const underline = lines.length === 1 && paragraphLength <= maxTitle ? underlineLevel(line) : undefined
    const section = isCode
      ? undefined
      : underline === undefined
        ? headingOf(line)
        : { level: underline, title: lines[0] ?? "" }
    if (section !== undefined) {
      if (underline !== undefined) lines = []
      yield* begin(section)
      continue
    }
    if (isCode || isItem(line) || paragraphLength > maxParagraph) {
      yield* endParagraph()
      // After a blank line the paragraph begins with the joiner of that.
      if (joiner === " ") joiner = "\n"
    }
    lines.push(line)
    paragraphLength += line.length + 1
  }
  yield* endSection(0)
}

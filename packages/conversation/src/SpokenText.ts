import type { Pronunciation } from "./answers/CallSettings.ts"

/**
 * What text-to-speech gets of the model's text: without Markdown, emoji, the schemes of URLs and list signs, and with the
 * call's pronunciations. Each character knows where it comes from, so that a cut in the spoken text is found in the
 * model's text.
 */
export interface SpokenText {
  readonly text: string
  /** For each character, its position in the model's text. */
  readonly origins: ReadonlyArray<number>
}

/** A part of a replacement: new text, or the characters of a group of the match, which keep their origins. */
type Part = string | number

/** Replaces each match of `pattern` (flags `g` and `d`) by the parts. */
const replace = (
  given: SpokenText,
  pattern: RegExp,
  partsOf: (match: RegExpExecArray) => ReadonlyArray<Part>
): SpokenText => {
  let text = ""
  const origins: Array<number> = []
  let done = 0
  const keep = (from: number, to: number) => {
    text += given.text.slice(from, to)
    for (let i = from; i < to; i++) origins.push(given.origins[i] ?? 0)
  }
  for (const match of given.text.matchAll(pattern)) {
    keep(done, match.index)
    done = match.index + match[0].length
    for (const part of partsOf(match)) {
      if (typeof part === "number") {
        const [from, to] = match.indices?.[part] ?? [0, 0]
        keep(from, to)
      } else {
        text += part
        for (let i = 0; i < part.length; i++) origins.push(given.origins[match.index] ?? 0)
      }
    }
  }
  if (done === 0) return given
  keep(done, given.text.length)
  return { text, origins }
}

/** Emoji with their modifiers; not the signs that are words: ©, ®, ™. */
const emoji =
  /(?![©®™])(?:\p{Regional_Indicator}{2}|\p{Extended_Pictographic}(?:[\uFE0F\u20E3]|\p{Emoji_Modifier}|\u200D\p{Extended_Pictographic})*|[0-9#*]\uFE0F?\u20E3|[\uFE0F\u200D])/dgu

/** The signs of Markdown and the like, each with what is left of them. */
const signs: ReadonlyArray<readonly [pattern: RegExp, parts: ReadonlyArray<Part>]> = [
  // What a model thinks, in a text that comes whole.
  [/<(think|thinking)>[\s\S]*?<\/\1>/dgi, []],
  // A fence of code with its language; a line.
  [/^[ \t]*(?:```|~~~)[^\n`]*$/dgm, []],
  [/^[ \t]*(?:[-*_][ \t]*){3,}$/dgm, []],
  // An image or a link: its text. A bare address in angle brackets.
  [/!?\[([^[\]\n]{0,300})\]\([^()\s]{0,2000}(?: "[^"\n]{0,300}")?\)/dg, [1]],
  [/<((?:https?:\/\/|mailto:)[^<>\s]{1,2000})>/dgi, [1]],
  // HTML.
  [/<br[ \t]*\/?>/dgi, [" "]],
  [/<\/?[a-z][a-z0-9-]*(?:[ \t][^<>\n]{0,300})?>/dgi, []],
  // Headings, quotations, list signs.
  [/^[ \t]*#{1,6}[ \t]+/dgm, []],
  [/^[ \t]*(?:>[ \t]?)+/dgm, []],
  [/^[ \t]*[-*+•‣◦][ \t]+(?:\[[ xX]\][ \t]+)?/dgm, []],
  // Tables: their rule, their edges, and a pause between cells.
  [/^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)+\|?[ \t]*$/dgm, []],
  [/^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$/dgm, []],
  [/[ \t]*\|+[ \t]*/dg, [", "]],
  // The scheme of an address.
  [/\b(?:https?|ftp):\/\//dgi, []],
  [/\b(?:mailto|tel|sms):(?=[^\s])/dgi, []],
  // Code, emphasis, strikethrough; not between two digits or within a word. A star that stands alone, or before digits, is
  // that of a telephone's keypad.
  [/`+/dg, []],
  [/~~/dg, []],
  [/(?<![\p{L}\p{N}*])\*(?=[^\s*])([^*\n]{0,300}?\p{L}[^*\n]{0,300}?)(?<=[^\s*])\*(?![\p{L}\p{N}*])/dgu, [1]],
  [/(?<!\d ?)\*{2,}|\*{2,}(?! ?\d)/dgu, []],
  [/(?<![\p{L}\p{N}])\*(?=\p{L})|(?<=[\p{L}\p{N}.,!?;:)"'’])\*(?![\p{L}\p{N}])|(?<=\p{L})\*(?=\p{L})/dgu, []],
  [/(?<![\p{L}\p{N}])_+(?=[^\s_])|(?<=[^\s_])_+(?![\p{L}\p{N}])/dgu, []],
  // A name of several words; addresses keep theirs.
  [/(?<![@/]\S{0,80})(?<=[\p{L}\p{N}])_+(?=[\p{L}\p{N}])(?!\S{0,80}[@/.][^\s.])/dgu, [" "]]
]

const word = /[\p{L}\p{N}]/u
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** One pattern for all pronunciations, longer ones first, and what each is spoken as. */
interface Pronouncer {
  readonly pattern: RegExp
  readonly sayings: ReadonlyMap<string, string>
}

/** By the list of a call, which stays the same during it. */
const pronouncers = new WeakMap<ReadonlyArray<Pronunciation>, Pronouncer>()

const pronouncerOf = (pronunciations: ReadonlyArray<Pronunciation>): Pronouncer => {
  const known = pronouncers.get(pronunciations)
  if (known !== undefined) return known
  const whole = pronunciations
    .toSorted((a, b) => b.text.length - a.text.length)
    .map(({ text }) => {
      const before = word.test(text.slice(0, 1)) ? "(?<![\\p{L}\\p{N}])" : ""
      const after = word.test(text.slice(-1)) ? "(?![\\p{L}\\p{N}])" : ""
      return before + escaped(text) + after
    })
  const made = {
    pattern: new RegExp(whole.join("|"), "dgiu"),
    sayings: new Map(pronunciations.toReversed().map(({ say, text }) => [text.toLowerCase(), say]))
  }
  pronouncers.set(pronunciations, made)
  return made
}

const oneSpace = (given: SpokenText): SpokenText => replace(given, /[ \t]{2,}/dg, () => [" "])

/** The spoken form of a text. */
export const spokenText = (text: string, pronunciations: ReadonlyArray<Pronunciation> = []): SpokenText => {
  let spoken: SpokenText = { text, origins: Array.from({ length: text.length }, (_, i) => i) }
  spoken = oneSpace(replace(spoken, emoji, () => []))
  for (const [pattern, parts] of signs) spoken = replace(spoken, pattern, () => parts)
  if (pronunciations.length > 0) {
    const { pattern, sayings } = pronouncerOf(pronunciations)
    spoken = replace(spoken, pattern, ([found]) => [sayings.get(found.toLowerCase()) ?? found])
  }
  if (spoken.text === text) return spoken
  return replace(oneSpace(spoken), /^\s+|\s+$/dg, () => [])
}

/** Letters and marks of scripts that are written without spaces. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u

/** What stands between two successive pieces of a text: a space, or nothing in a script without spaces. */
export const spaceBetween = (before: string, after: string): "" | " " =>
  before === "" || (unspaced.test(before.slice(-1)) && unspaced.test(after.slice(0, 1))) ? "" : " "

/**
 * How much of the model's text was spoken when `played`, a beginning of its spoken form, was. A word that was spoken only in
 * part is counted to where it stands.
 */
export const writtenLength = ({ origins, text }: SpokenText, played: string, written: string): number =>
  played.length >= text.length ? written.length : (origins[played.length] ?? 0)

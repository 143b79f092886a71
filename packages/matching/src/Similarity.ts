import { distance } from "fastest-levenshtein"
import type { Word } from "./Tokens.ts"

/** What words that sound alike but are written differently count. */
const soundsAlike = 0.9
/** Words of up to this many letters are the same or not: one letter is a third of them. */
export const shortWord = 3

/** How a word sounds, roughly and in any of the languages: for "Catherine" and "Kathrin", "Meyer" and "Maier". */
export const soundOf = (word: string): string =>
  word
    .replace(/tsch|sch|sh|ch/g, "x")
    .replace(/ph/g, "f")
    .replace(/th/g, "t")
    .replace(/[ae][iy]|ij/g, "j")
    .replace(/c(?=[eiy])|z/g, "s")
    .replace(/ck|[cq]/g, "k")
    .replace(/v/g, "w")
    .replace(/y/g, "i")
    .replace(/(?<=.)h/g, "")
    .replace(/(.)\1+/g, "$1")
    .replace(/(?<=..)e$/, "")

/** 1 minus the edits per letter. */
export const likeness = (one: string, other: string): number =>
  one === other ? 1 : 1 - distance(one, other) / Math.max(one.length, other.length)

/** A word with its sound. */
export interface SoundedWord<W extends Word> {
  readonly word: W
  readonly sound: string
}

/** How alike two words are, from 0 to 1, in their best transliteration. */
export const similarity = (first: SoundedWord<Word>, second: SoundedWord<Word>): number => {
  const [one, other] = [first.word, second.word]
  if (one.plain === other.plain || one.expanded === other.expanded) return 1
  if (one.plain === other.expanded || one.expanded === other.plain) return 1
  const longer = Math.max(one.plain.length, other.plain.length)
  const shorter = Math.min(one.plain.length, other.plain.length)
  if (longer <= shortWord || shorter < shortWord || shorter * 2 < longer) return 0
  const plain = likeness(one.plain, other.plain)
  const isExpanded = one.plain !== one.expanded || other.plain !== other.expanded
  const letters = isExpanded ? Math.max(plain, likeness(one.expanded, other.expanded)) : plain
  return letters < soundsAlike && first.sound === second.sound ? soundsAlike : letters
}

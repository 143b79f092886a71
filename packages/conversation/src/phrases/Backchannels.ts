import { phrases } from "./Phrases.ts"

/** The longest backchannel in characters: a longer text is none, even if it only repeats "yes". */
const longest = 40

/** A text without case, punctuation and diacritics. */
export const plainWords = (text: string): string =>
  text
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

/** Case, punctuation and diacritics do not matter. */
const backchannelsOf = new Map<string, ReadonlyArray<string>>(
  Object.entries(phrases).map(([language, { backchannels }]) => [
    language,
    [...new Set(backchannels.split(",").map(plainWords))]
  ])
)

const consistsOf = (listed: ReadonlyArray<string>, text: string, unfinished: boolean): boolean =>
  text === "" ||
  listed.some(
    (phrase) =>
      text === phrase ||
      (unfinished && phrase.startsWith(text)) ||
      (text.startsWith(`${phrase} `) && consistsOf(listed, text.slice(phrase.length + 1), unfinished))
  )

/**
 * Whether a text in a BCP-47 language consists of nothing but backchannels. `unfinished`: more may follow, so a
 * beginning of a backchannel counts too. False for a text without words, and in languages without a list.
 */
export const isBackchannel = (text: string, language: string, unfinished = false): boolean => {
  const words = plainWords(text)
  const listed = backchannelsOf.get(language.slice(0, 2).toLowerCase()) ?? []
  return words !== "" && words.length <= longest && consistsOf(listed, words, unfinished)
}

/** A text without case and punctuation. Marks stay: in many scripts they are vowels. */
export const wordsOf = (text: string): string =>
  text
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()

/** Whether two texts differ in case and punctuation at most. */
export const sameWords = (one: string, other: string): boolean => one === other || wordsOf(one) === wordsOf(other)

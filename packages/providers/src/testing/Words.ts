/** Words as they are compared: no case, no punctuation, one space. */
export const words = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

/** A text of at most this many characters; a longer one is cut, with an ellipsis after it. */
export const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length)}…`

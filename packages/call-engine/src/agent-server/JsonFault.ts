/** Where a text stops being JSON. `line` and `column` count from 1. */
export interface JsonFault {
  readonly line: number
  readonly column: number
  /** The text around that place, in one line; empty at the end of an empty text. */
  readonly near: string
}

/** Characters of `near` on each side. */
const around = 20

const isSpace = (char: string): boolean => char === " " || char === "\n" || char === "\r" || char === "\t"

const scalar = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** The end of the match at a position, or -1. */
const matched = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** The end of the string that begins at `at`, or the negative of the place where it is wrong, less 1. */
const endOfString = (text: string, at: number): number => {
  let index = at + 1
  while (index < text.length) {
    const char = text.charCodeAt(index)
    if (char === 0x22) return index + 1
    if (char < 0x20) return -index - 1
    if (char === 0x5c) {
      const end = matched(escaped, text, index)
      if (end < 0) return -index - 1
      index = end
    } else index++
  }
  return -text.length - 1
}

/** What may come next. */
type State = "value" | "first value" | "name" | "first name" | "colon" | "after"

/**
 * The first place at which a text is not JSON (RFC 8259), in one pass; its end when it is JSON. Node 20 does not name the
 * place for every error.
 */
const placeOf = (text: string): number => {
  const open: Array<"{" | "["> = []
  let state: State = "value"
  let at = 0
  while (true) {
    while (isSpace(text.charAt(at))) at++
    const char = text.charAt(at)
    const inside = open.at(-1)
    const isName: boolean = state === "name" || state === "first name"
    if (state === "after") {
      if (inside === undefined || char === "") return at
      if (char === ",") state = inside === "{" ? "name" : "value"
      else if (char === (inside === "{" ? "}" : "]")) open.pop()
      else return at
      at++
    } else if (state === "colon") {
      if (char !== ":") return at
      state = "value"
      at++
    } else if ((state === "first value" && char === "]") || (state === "first name" && char === "}")) {
      open.pop()
      state = "after"
      at++
    } else if (char === '"') {
      const end = endOfString(text, at)
      if (end < 0) return -end - 1
      at = end
      state = isName ? "colon" : "after"
    } else if (isName) return at
    else if (char === "{" || char === "[") {
      open.push(char)
      state = char === "{" ? "first name" : "first value"
      at++
    } else {
      const end = matched(scalar, text, at)
      if (end < 0) return at
      at = end
      state = "after"
    }
  }
}

/** Where and near what a text stops being JSON. */
export const jsonFault = (text: string): JsonFault => {
  const at = placeOf(text)
  const lineStart = text.lastIndexOf("\n", at - 1) + 1
  const near = text.slice(Math.max(0, at - around), at + around).replace(/[\p{Cc}\p{Surrogate}\s]+/gu, " ")
  return { line: countLines(text, at), column: at - lineStart + 1, near: near.trim() }
}

const countLines = (text: string, end: number): number => {
  let lines = 1
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

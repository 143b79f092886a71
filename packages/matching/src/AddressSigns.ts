import { atWords, dotWords, signWords } from "./Lexicon.ts"
import type { Piece } from "./Piece.ts"

/** How many pieces there may be before a dot that belongs to the domain: "my company dot co dot uk". */
const longestLabel = 40
/** The same for a dot that is written: "example.com". */
const longestWrittenLabel = 3

const keyOf = (piece: Piece | undefined): string =>
  piece?._tag === "Word" && !piece.letters && !isWritten(piece) ? piece.word.plain : ""

/** Whether the piece is in an address that is written with its `@`. */
const isWritten = (piece: Piece | undefined): boolean =>
  (piece?._tag === "Word" || piece?._tag === "Digits") && (piece.part === "local" || piece.part === "domain")

/** The sign that begins here in a spoken e-mail address, of one word or two ("snabel a"), and how many words it has. */
const signAt = (pieces: ReadonlyArray<Piece>, at: number, signs: ReadonlySet<string>): number => {
  const key = keyOf(pieces[at])
  if (key === "") return 0
  const next = keyOf(pieces[at + 1])
  if (next !== "" && signs.has(key + next)) return 2
  return signs.has(key) ? 1 : 0
}

const isSingle = (piece: Piece | undefined): boolean =>
  piece?._tag === "Word" && (piece.letters || piece.word.plain.length === 1)

const isContent = (piece: Piece | undefined): boolean => piece?._tag === "Word" || piece?._tag === "Digits"

/** The piece after the next dot of a domain, said or written, within so many pieces; undefined when there is none. */
const afterDot = (pieces: ReadonlyArray<Piece>, from: number, longest = longestLabel): number | undefined => {
  for (let at = from; at < Math.min(pieces.length, from + longest); at++) {
    const piece = pieces[at]
    // A domain may begin with "at": "bob at at home dot nl".
    if (piece?._tag === "At" || (at > from && signAt(pieces, at, atWords) > 0)) return undefined
    const isDotted = piece?._tag === "Word" && piece.dotted === true
    if (isDotted && at > from && at - from <= longestWrittenLabel) return at
    const words = at > from ? signAt(pieces, at, dotWords) : 0
    if (words > 0 && pieces[at + words]?._tag === "Word") return at + words
  }
  return undefined
}

/** Where the domain ends that begins here: after the word, or the letters, that follow its last dot. */
const endOfDomain = (pieces: ReadonlyArray<Piece>, from: number): number | undefined => {
  let end: number | undefined
  for (let at = afterDot(pieces, from); at !== undefined; at = afterDot(pieces, at, longestWrittenLabel)) end = at
  if (end === undefined) return undefined
  while (isSingle(pieces[end]) && isSingle(pieces[end + 1])) end++
  return end + 1
}

/**
 * The pieces of a text with `@` where an e-mail address has it, the names of signs marked, and the pieces of each domain.
 * Undefined when there is no address: nothing with `@`, nor "at" and, later, "dot".
 */
export const withAddresses = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> | undefined => {
  const result: Array<Piece> = []
  let found = false
  let domainEnd = 0
  for (let at = 0; at < pieces.length; ) {
    const piece = pieces[at]
    if (piece === undefined) break
    const words = piece._tag === "At" ? 1 : signAt(pieces, at, atWords)
    if (words > 0 && isContent(result.at(-1))) {
      const from = at + words
      let end = piece._tag === "At" && piece.address !== undefined ? from : endOfDomain(pieces, from)
      const isName =
        pieces[from]?._tag === "Word" && [dotWords, signWords].every((signs) => signAt(pieces, from, signs) === 0)
      if (end === undefined && piece._tag === "At" && isName) end = from + 1
      if (end !== undefined) {
        found = true
        domainEnd = end
        result.push(piece._tag === "At" ? piece : { _tag: "At" })
        at = from
        continue
      }
    }
    if (piece._tag !== "At") {
      const signs = signAt(pieces, at, dotWords) || signAt(pieces, at, signWords)
      const count = Math.max(1, signs)
      for (const each of pieces.slice(at, at + count)) {
        const inDomain = at < domainEnd && { part: "domain" as const }
        if (each._tag === "Word") result.push({ ...each, ...inDomain, ...(signs > 0 && { sign: true }) })
        else result.push(each._tag === "Digits" ? { ...each, ...inDomain } : each)
      }
      at += count
    } else at++
  }
  return found ? result : undefined
}

/** The pieces without `@`, and with the names of signs marked: an address may have been said without "at". */
export const withSigns = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> =>
  pieces.flatMap((piece, at) => {
    if (piece._tag === "At") return []
    const isSign = [atWords, dotWords, signWords].some(
      (signs) => signAt(pieces, at, signs) > 0 || signAt(pieces, at - 1, signs) === 2
    )
    return isSign && piece._tag === "Word" ? [{ ...piece, sign: true }] : [piece]
  })

import { betweenAmounts, decimalWords, lexicons, nameUnits, shortUnits, units } from "./Lexicon.ts"
import type { Piece } from "./Piece.ts"
import type { Token } from "./Tokens.ts"
import type { Unit } from "./Vocabulary.ts"

type Digits = Extract<Piece, { readonly _tag: "Digits" }>

/** Currencies, and their hundredths. */
const hundredths: Readonly<Partial<Record<Unit, Unit>>> = {
  euro: "cent",
  dollar: "cent",
  franc: "cent",
  pound: "penny",
  zloty: "grosz",
  krone: "ore"
}

/** A number with its decimals. */
interface Amount {
  readonly whole: string
  readonly decimals: string
}

const percentWords: ReadonlySet<string> = new Set(["pourcent", "percent", "porciento", "percento", "porcento"])

const isNumber = (token: Token | undefined): boolean =>
  token?._tag === "Digits" ||
  (token?._tag === "Word" && lexicons.some(({ numbers }) => numbers.isNumber(token.word.plain)))

/** The tokens with "pour cent" and its like after a number as one sign: "cent" is a number too. */
export const withPercentSigns = (tokens: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  const result: Array<Token> = []
  for (let at = 0; at < tokens.length; at++) {
    const [token, next] = [tokens[at], tokens[at + 1]]
    if (token === undefined) break
    const first = token._tag === "Word" ? token.word.plain : ""
    const pair = next?._tag === "Word" ? first + next.word.plain : ""
    const words = percentWords.has(first) ? 1 : percentWords.has(pair) ? 2 : 0
    if (words === 0 || !isNumber(result.at(-1))) result.push(token)
    else {
      result.push({ _tag: "UnitSign", unit: "percent" })
      at += words - 1
    }
  }
  return result
}

/** Texts of more parts are not read with short names of units: bounds the work. */
const mostTokens = 64

/** How the units of a text are read. */
export interface UnitManner {
  /** Whether short names of units, and words that are also names, are units. */
  readonly allUnits: boolean
  /** Whether amounts of money are read as one number. */
  readonly amounts: boolean
}

/** Whether a short name is that of a currency, which may be before its number: "EUR 20". */
const isCode = (word: string): boolean => {
  const unit = shortUnits.get(word)
  return unit !== undefined && hundredths[unit] !== undefined
}

/** Whether it is one letter: two in a row are spelled, and no unit: "12 g r". */
const isLetter = (part: Token | Piece | undefined): boolean => part?._tag === "Word" && part.word.plain.length === 1

/** A unit beside a number. It is certain, or it is `word`, which may be something else. */
interface SaidUnit {
  readonly word: string
  readonly certain: boolean
}

const saidUnits = (tokens: ReadonlyArray<Token>): ReadonlyArray<SaidUnit> =>
  tokens.flatMap((token, at): ReadonlyArray<SaidUnit> => {
    if (token._tag === "UnitSign") return [{ word: "", certain: true }]
    if (token._tag !== "Word" || token.part === "local" || token.part === "domain") return []
    const word = token.word.plain
    const isBeside = isNumber(tokens[at - 1]) || (isCode(word) && isNumber(tokens[at + 1]))
    const isSpelled = isLetter(token) && isLetter(tokens[at + 1])
    if (!isBeside || isSpelled) return []
    if (units.has(word)) return [{ word, certain: true }]
    return shortUnits.has(word) || nameUnits.has(word) ? [{ word, certain: false }] : []
  })

const hasDecimals = (tokens: ReadonlyArray<Token>): boolean =>
  tokens.some((token, at) => {
    if (token._tag === "Digits") return token.place === "decimals"
    const isPoint = token._tag === "Word" && decimalWords.has(token.word.plain)
    return isPoint && isNumber(tokens[at - 1]) && isNumber(tokens[at + 1])
  })

/**
 * How the units of two texts may be read. Where both have one beside a number, short names and words that are also names
 * are units; unless these are the same in both, without decimals: then they may be letters of a code.
 */
export const unitManners = (
  one: ReadonlyArray<Token>,
  other: ReadonlyArray<Token>
): readonly [UnitManner, ...ReadonlyArray<UnitManner>] => {
  const none: UnitManner = { allUnits: false, amounts: false }
  if (Math.max(one.length, other.length) > mostTokens) return [none]
  const [left, right] = [saidUnits(one), saidUnits(other)]
  const uncertain = (said: ReadonlyArray<SaidUnit>) => said.flatMap(({ certain, word }) => (certain ? [] : [word]))
  const words = [uncertain(left).join(" "), uncertain(right).join(" ")]
  const hasOthers = words[0] !== words[1] || (words[0] !== "" && (hasDecimals(one) || hasDecimals(other)))
  const allUnits = left.length > 0 && right.length > 0 && hasOthers
  const hasCertain = [...left, ...right].some(({ certain }) => certain)
  if (!allUnits && !hasCertain) return [none]
  return [
    { allUnits, amounts: false },
    { allUnits, amounts: true }
  ]
}

const unitOf = (piece: Piece | undefined, allUnits: boolean): Unit | undefined => {
  if (piece?._tag === "UnitSign") return piece.unit
  if (piece?._tag !== "Word" || piece.letters || piece.part === "local" || piece.part === "domain") return undefined
  const word = piece.word.plain
  return units.get(word) ?? (allUnits ? (shortUnits.get(word) ?? nameUnits.get(word)) : undefined)
}

/** What is measured, the same for the same amount: "euro 5.50", "cent 50". */
const keyOf = (unit: Unit, { decimals, whole }: Amount): string => {
  const hundredth = hundredths[unit]
  const all = hundredth === undefined ? decimals.replace(/0+$/, "") : decimals.padEnd(2, "0").replace(/^00$/, "")
  const number = whole.replace(/^0+(?=\d)/, "")
  if (hundredth !== undefined && number === "0" && all !== "") return `${hundredth} ${Number(all)}`
  return `${unit} ${number}${all === "" ? "" : `.${all}`}`
}

/** The digits of an amount of money, as they are said: "550" for 5.50, "5" for 5.00, "50" for 0.50. */
const digitsOf = ({ decimals, whole }: Amount): string => {
  const all = decimals.padEnd(2, "0").replace(/^00$/, "")
  return (whole + all).replace(/^0+(?=\d)/, "")
}

/** How many of the last digits are one number: those with their decimals and groups of thousands. */
const lengthOfNumber = (digits: ReadonlyArray<Digits>): number => {
  let at = digits.length - 1
  const decimals = digits.findLastIndex(({ place }) => place === "decimals")
  if (decimals > 0) at = decimals - 1
  while (at > 0 && digits[at]?.place === "thousands") at--
  return digits.length - at
}

const amountOf = (digits: ReadonlyArray<Digits>): Amount => {
  const decimals = digits.findIndex(({ place }) => place === "decimals")
  const text = (part: ReadonlyArray<Digits>) => part.map((each) => each.digits).join("")
  return decimals <= 0
    ? { whole: text(digits), decimals: "" }
    : { whole: text(digits.slice(0, decimals)), decimals: text(digits.slice(decimals)) }
}

const lastDigits = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Digits> => {
  const found: Array<Digits> = []
  for (let at = pieces.length - 1; at >= 0; at--) {
    const piece = pieces[at]
    if (piece?._tag !== "Digits") break
    found.unshift(piece)
  }
  return found.slice(found.length - lengthOfNumber(found))
}

/** The number in digits that begins here. */
const digitsFrom = (pieces: ReadonlyArray<Piece>, from: number): ReadonlyArray<Digits> => {
  const found: Array<Digits> = []
  for (let at = from; at < pieces.length; at++) {
    const piece = pieces[at]
    if (piece?._tag !== "Digits" || (at > from && piece.place === undefined)) break
    found.push(piece)
  }
  return found
}

/** Marks "and" before a number with a unit, and after one. */
const withJoinsMarked = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> =>
  pieces.map((piece, at) => {
    if (piece._tag !== "Word" || !betweenAmounts.has(piece.word.plain)) return piece
    const end = at + 1 + pieces.slice(at + 1).findIndex(({ _tag }) => _tag !== "Digits")
    const isBefore = end > at + 1 && pieces[end]?._tag === "Measure"
    return isBefore || pieces[at - 1]?._tag === "Measure" ? { ...piece, joinsAmounts: true } : piece
  })

/**
 * Hundredths after an amount: "fifty", "and fifty cents", "con cincuenta"; whether their unit is said, and the index of the
 * piece after them.
 */
const hundredthsAt = (pieces: ReadonlyArray<Piece>, at: number, unit: Unit, allUnits: boolean) => {
  const first = pieces[at]
  const start = first?._tag === "Word" && betweenAmounts.has(first.word.plain) ? at + 1 : at
  const piece = pieces[start]
  if (piece?._tag !== "Digits" || piece.digits.length > 2 || pieces[start + 1]?._tag === "Digits") return undefined
  const next = unitOf(pieces[start + 1], allUnits)
  const isNamed = next !== undefined && next === hundredths[unit]
  if (next !== undefined && !isNamed) return undefined
  return { decimals: piece.digits.padStart(2, "0"), named: isNamed, next: start + (isNamed ? 2 : 1) }
}

/**
 * The pieces with the units of their numbers. With `amounts`, amounts of money are read as one number, without decimals
 * of 0: "five dollars fifty" is 550, "€20.00" is 20.
 */
export const withUnits = (pieces: ReadonlyArray<Piece>, { allUnits, amounts }: UnitManner): ReadonlyArray<Piece> => {
  const result: Array<Piece> = []
  const push = (digits: ReadonlyArray<Digits>, amount: Amount, unit: Unit) => {
    if (amounts && hundredths[unit] !== undefined) {
      result.push({ _tag: "Digits", digits: digitsOf(amount), ordinal: false })
    } else result.push(...digits)
    result.push({ _tag: "Measure", key: keyOf(unit, amount) })
  }
  for (let at = 0; at < pieces.length; ) {
    const piece = pieces[at]
    if (piece === undefined) break
    const unit = isLetter(piece) && isLetter(pieces[at + 1]) ? undefined : unitOf(piece, allUnits)
    const leads = piece._tag === "UnitSign" && piece.leads === true
    const before = unit === undefined || leads ? [] : lastDigits(result)
    if (unit !== undefined && before.length > 0 && unit !== "ore") {
      result.splice(result.length - before.length)
      const amount = amountOf(before)
      const rest = amounts && amount.decimals === "" ? hundredthsAt(pieces, at + 1, unit, allUnits) : undefined
      const isMoney = hundredths[unit] !== undefined && rest !== undefined
      push(before, isMoney ? { ...amount, decimals: rest.decimals } : amount, unit)
      at = isMoney ? rest.next : at + 1
      continue
    }
    const isBefore = piece._tag === "UnitSign" || (piece._tag === "Word" && isCode(piece.word.plain))
    const after = isBefore ? digitsFrom(pieces, at + 1) : []
    if (unit !== undefined && after.length > 0) {
      const amount = amountOf(after)
      const end = at + 1 + after.length
      const rest = amounts && amount.decimals === "" ? hundredthsAt(pieces, end, unit, allUnits) : undefined
      const isNamed = rest?.named === true
      push(after, isNamed ? { ...amount, decimals: rest.decimals } : amount, unit)
      at = isNamed ? rest.next : end
      continue
    }
    if (piece._tag !== "UnitSign") result.push(piece)
    at++
  }
  return withJoinsMarked(result)
}

import type { Unit } from "./Vocabulary.ts"

/** One part of a text: a word, digits, the sign `@` or that of a unit, or a date in digits. */
export type Token =
  | {
      readonly _tag: "Word"
      readonly word: Word
      /** Set when the way it is written shows that it is no filler word. */
      readonly part?: WordPart
      /** A dot joins it to the word before: "com" in "example.com". */
      readonly dotted?: boolean
    }
  | {
      readonly _tag: "Digits"
      readonly digits: string
      readonly part?: WordPart
      /** They follow a point or a comma, as decimals do, or are a group of thousands: "5.50", "1,000". */
      readonly place?: "decimals" | "thousands"
      /** The ending of an ordinal follows: "2nd". */
      readonly ordinal?: boolean
      /** A colon and two digits follow, as after the hour in "15:30". */
      readonly clock?: boolean
    }
  | {
      readonly _tag: "At"
      /** The address around it, where its domain has a dot. */
      readonly address?: WrittenAddress
    }
  | {
      readonly _tag: "UnitSign"
      readonly unit: Unit
      /** It touches the number after it and not the one before it: "3 €20". */
      readonly leads?: boolean
    }
  | { readonly _tag: "NumericDate"; readonly parts: readonly [string, string, string] }

/** `answer`: a part of a code, as in "A12" and "3816 LE". `local`, `domain`: a part of an e-mail address. */
export type WordPart = "answer" | "local" | "domain"

/** An e-mail address as it is written: the letters and digits before its `@`, and its domain with dots and hyphens. */
export interface WrittenAddress {
  readonly local: Word
  readonly domain: Word
}

/** A word without case and diacritics. `expanded` is its other transliteration: `muller` and `mueller` for Müller. */
export interface Word {
  readonly plain: string
  readonly expanded: string
}

/** Letters that are no base letter with a mark: their transliterations, the short one and the long one. */
const letters: Readonly<Record<string, readonly [plain: string, expanded: string]>> = {
  ß: ["ss", "ss"],
  æ: ["a", "ae"],
  ø: ["o", "oe"],
  œ: ["o", "oe"],
  ł: ["l", "l"],
  đ: ["d", "d"],
  ð: ["d", "d"],
  þ: ["th", "th"],
  ı: ["i", "i"]
}

/** Letters with a mark that are also written as two letters. */
const pairs: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue", å: "aa" }

const fold = (text: string, expand: boolean): string =>
  text
    .replace(/[ßæøœłđðþı]/g, (letter) => letters[letter]?.[expand ? 1 : 0] ?? letter)
    .replace(/[äöüå]/g, (letter) => (expand ? (pairs[letter] ?? letter) : letter))
    .normalize("NFD")
    .replace(/\p{M}+/gu, "")

/** The word as it is compared: letters only, lower case. */
export const wordOf = (text: string): Word => {
  const lower = text.toLowerCase().normalize("NFC")
  return { plain: fold(lower, false), expanded: fold(lower, true) }
}

/** The keys under which a word of a vocabulary is found, however it is transliterated. */
export const keysOf = (text: string): ReadonlyArray<string> => {
  const { expanded, plain } = wordOf(text.replaceAll("-", ""))
  return plain === expanded ? [plain] : [plain, expanded]
}

/** Decimal digits of other scripts, as ASCII: every block of ten begins at a code point that ends in 0 or 6. */
const asciiDigit = (digit: string): string => {
  const last = (digit.codePointAt(0) ?? 0) % 16
  return String(last >= 6 ? last - 6 : last)
}

/**
 * Three numbers between the same signs, of which the first or the last may be a year. Not part of a longer row, as in
 * an IP address or a phone number.
 */
const numericDate = String.raw`(?<!\d[-/.]? ?)(\d{4}([-/.]) ?\d{1,2}\2 ?\d{1,2}|\d{1,2}([-/.]) ?\d{1,2}\3 ?(?:\d{4}|\d{2}))(?![-/.]? ?\d)`
const pattern = new RegExp(
  String.raw`${numericDate}|(\d+)((?:st|nd|rd|th|er|ère|ere|ème|eme|ième|ste|de|te|ten|º|ª|:a|:e)(?![\p{L}\p{M}\d]))?|([\p{L}\p{M}\p{Nl}\p{No}]+(?:['’][\p{L}\p{M}\p{Nl}\p{No}]+)*)|(@)|([€$£%])`,
  "gu"
)

/** What follows and what does not precede the hour of a time in digits. */
const afterHour = /^:[0-5]\d(?![:\d])/
const beforeHour = /[:\d]$/

/** Compatible forms of a character, such as fullwidth digits and ligatures; longer ones are single words of one script. */
const longestForm = 3
const compatible = (text: string): string =>
  text.normalize("NFC").replace(/[^\x00-\x7f]/gu, (character) => {
    const form = character.normalize("NFKC")
    return form.length > longestForm ? character : form
  })

/** Capitals after digits are part of a code, unless the text has others elsewhere. */
const capitals = /^\p{Lu}{1,2}$/u
const otherCapitals = /(?<!\d[ -]?|[\p{L}\p{M}])\p{Lu}{2}/u

const local = /[\p{L}\p{M}\d.!#$%&'*+/=?^_`{|}~-]+$/u
const domain = /[\p{L}\p{M}\d-]+(?:\.[\p{L}\p{M}\d-]+)*/uy

/** An e-mail address in a text: where it begins and ends, and where its `@` is. */
interface Place {
  readonly from: number
  readonly at: number
  readonly to: number
}

/** The e-mail addresses of a text, in order. */
function* addressesIn(text: string): Generator<Place> {
  for (const { 0: chunk, index } of text.matchAll(/\S+/g)) {
    const at = chunk.lastIndexOf("@")
    domain.lastIndex = at + 1
    const ending = domain.exec(chunk)?.[0]
    const beginning = local.exec(chunk.slice(0, Math.max(at, 0)))?.[0]
    if (at < 0 || ending === undefined || beginning === undefined) continue
    yield { from: index + at - beginning.length, at: index + at, to: index + at + 1 + ending.length }
  }
}

const unitSigns: Readonly<Record<string, Unit>> = { "€": "euro", $: "dollar", "£": "pound", "%": "percent" }

/** Whether the sign at this place is beside a number in digits. */
const isBesideDigit = (text: string, at: number): boolean =>
  /\d ?$/.test(text.slice(Math.max(0, at - 2), at)) || /^ ?\d/.test(text.slice(at + 1, at + 3))

/** What digits are beside others: their decimals, or thousands of them. */
const placeOf = (text: string, start: number, end: number): "decimals" | "thousands" | undefined => {
  const before = text.slice(Math.max(0, start - 2), start)
  if (end - start === 3) return /\d[.,'’ ]$/.test(before) ? "thousands" : undefined
  const isLast = end - start < 3 && !/^[.,]\d/.test(text.slice(end, end + 2))
  return isLast && /\d[.,]$/.test(before) ? "decimals" : undefined
}

/** The letters and digits of a part of an address. */
const lettersOf = (text: string): Word => wordOf(text.replace(/[^\p{L}\p{M}\d]/gu, ""))

/** Tells the part that a word has by how it is written, from its offsets. `text` has its case. */
const partsOf = (text: string, lower: string) => {
  const cased = text.length === lower.length && !otherCapitals.test(text) ? text : lower
  return (start: number, end: number): WordPart | undefined => {
    const before = lower.slice(Math.max(0, start - 2), start)
    if (/\d$/.test(before) || /^\d/.test(lower.slice(end, end + 1))) return "answer"
    return /\d[ -]$/.test(before) && capitals.test(cased.slice(start, end)) ? "answer" : undefined
  }
}

/** A dot between two words of at least two letters each, as in "example.com" and not in "p.m.". */
const isDotted = (text: string, start: number, end: number): boolean =>
  end - start > 1 && /[\p{L}\d-]{2}\.$/u.test(text.slice(Math.max(0, start - 3), start))

/**
 * The words and digits of a text. Signs and spaces separate words and are not compared, nor are invisible characters.
 */
export const tokensOf = (text: string): ReadonlyArray<Token> => {
  const cased = compatible(text)
    .replace(/\p{Cf}+/gu, "")
    .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)
  const clean = cased.toLowerCase()
  const partOf = partsOf(cased, clean)
  const addresses = addressesIn(clean)
  let address: Place | undefined = addresses.next().value ?? undefined
  const tokens: Array<Token> = []
  const pushWord = (letters: string, part: WordPart | undefined, dotted: boolean) => {
    const word = wordOf(letters.replace(/['’]/g, ""))
    if (word.plain !== "") tokens.push({ _tag: "Word", word, ...(part && { part }), ...(dotted && { dotted }) })
  }
  for (const found of clean.matchAll(pattern)) {
    const [whole, date, , , digits, ending, word, at, sign] = found
    const end = found.index + whole.length
    while (address !== undefined && address.to <= found.index) address = addresses.next().value ?? undefined
    const inside = address !== undefined && address.from <= found.index ? address : undefined
    const part = inside && (found.index < inside.at ? "local" : "domain")
    if (at !== undefined) {
      const written = inside && inside.at === found.index && clean.slice(inside.at, inside.to).includes(".")
      const host = wordOf(clean.slice(found.index + 1, inside?.to).replace(/-+$/, ""))
      const isWhole = inside !== undefined && written === true
      tokens.push({
        _tag: "At",
        ...(isWhole && { address: { local: lettersOf(clean.slice(inside.from, inside.at)), domain: host } })
      })
    } else if (part !== undefined) {
      // In an address, digits are no date, and what follows them is no ending of an ordinal.
      for (const [piece] of whole.matchAll(/\d+|[^\d\s/.-]+/g)) {
        if (/\d/.test(piece)) tokens.push({ _tag: "Digits", digits: piece, part })
        else pushWord(piece, part, false)
      }
    } else if (date !== undefined) {
      const [first = "", second = "", third = ""] = date.match(/\d+/g) ?? []
      tokens.push({ _tag: "NumericDate", parts: [first, second, third] })
    } else if (digits !== undefined) {
      const afterDigits = found.index + digits.length
      const clock =
        digits.length <= 2 &&
        afterHour.test(clean.slice(afterDigits, afterDigits + 4)) &&
        !beforeHour.test(clean.slice(Math.max(0, found.index - 1), found.index))
      const place = placeOf(clean, found.index, afterDigits)
      const ordinal = ending !== undefined
      tokens.push({
        _tag: "Digits",
        digits,
        ...(clock && { clock }),
        ...(place && { place }),
        ...(ordinal && { ordinal })
      })
    } else if (word !== undefined) {
      pushWord(word, partOf(found.index, end), isDotted(clean, found.index, end))
    } else if (sign !== undefined) {
      const unit = unitSigns[sign]
      const leads = /\d/.test(clean.charAt(end)) && !/\d/.test(clean.charAt(found.index - 1))
      if (unit !== undefined && isBesideDigit(clean, found.index)) {
        tokens.push({ _tag: "UnitSign", unit, ...(leads && { leads }) })
      }
    }
  }
  return tokens
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u
const zeroWidth = /^[\p{M}\u200b-\u200d]+$/u

/**
 * Removes what could control the terminal, or reorder what it shows, from text of others: control characters and marks
 * of writing direction.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "")

/** The number of terminal columns of one grapheme. */
const columnsOf = (grapheme: string): number => (zeroWidth.test(grapheme) ? 0 : wide.test(grapheme) ? 2 : 1)

/** The number of terminal columns of a text. */
export const width = (text: string): number => {
  let columns = 0
  for (const { segment } of graphemes.segment(text)) columns += columnsOf(segment)
  return columns
}

/** Shortens a text to a width, with `…` at its end. */
export const crop = (text: string, columns: number): string => {
  const clean = printable(text)
  if (width(clean) <= columns) return clean
  let out = ""
  let used = 0
  for (const { segment } of graphemes.segment(clean)) {
    if (used + columnsOf(segment) > columns - 1) break
    out += segment
    used += columnsOf(segment)
  }
  return columns > 0 ? `${out}…` : ""
}

/** Shortens a text to a width, with `…` at its start; for the input line. */
export const cropStart = (text: string, columns: number): string => {
  const clean = printable(text)
  if (width(clean) <= columns) return clean
  const parts = [...graphemes.segment(clean)].map((s) => s.segment)
  let out = ""
  let used = 1
  for (const part of parts.reverse()) {
    if (used + columnsOf(part) > columns) break
    out = part + out
    used += columnsOf(part)
  }
  return columns > 0 ? `…${out}` : ""
}

/** Pads a text with spaces to a width, or shortens it. */
export const pad = (text: string, columns: number): string => {
  const fitted = crop(text, columns)
  return fitted + " ".repeat(Math.max(0, columns - width(fitted)))
}

/** Wraps a text at spaces into at least one row of at most `columns`; longer words are split. */
export const wrap = (text: string, columns: number): ReadonlyArray<string> => {
  const limit = Math.max(2, columns)
  const rows: Array<string> = []
  let row = ""
  let used = 0
  const flush = () => {
    rows.push(row)
    row = ""
    used = 0
  }
  for (const word of printable(text).split(/ +/u)) {
    if (word === "") continue
    const size = width(word)
    if (used > 0 && used + 1 + size > limit) flush()
    if (used > 0) {
      row += " "
      used += 1
    }
    if (size <= limit) {
      row += word
      used += size
      continue
    }
    for (const { segment } of graphemes.segment(word)) {
      if (used + columnsOf(segment) > limit) flush()
      row += segment
      used += columnsOf(segment)
    }
  }
  if (row !== "" || rows.length === 0) rows.push(row)
  return rows
}

/** A text wrapped into an area, as one string; `…` ends the last row when the text needs more. */
export const fill = (text: string, area: { readonly width: number; readonly height: number }): string => {
  const rows = wrap(text, area.width)
  if (rows.length <= area.height) return rows.join("\n")
  const last = Math.max(0, area.height - 1)
  return [...rows.slice(0, last), crop(rows.slice(last).join(" "), area.width)].join("\n")
}

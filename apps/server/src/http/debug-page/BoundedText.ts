import { html } from "../documents/Html.ts"

/** The largest part of one body that a page shows, in characters. */
export const maxBody = 16_384
/** The same of a text in a row: what was said, an error. */
const maxText = 1_000

/** The beginning of a text, and the size of the whole, in characters. */
export interface Beginning {
  readonly text: string
  readonly size: number
}

/**
 * The beginning of a value as indented JSON. The rest is counted and not written, so that a value of any size costs
 * little. Escapes inside strings are not counted.
 */
export const jsonBeginning = (value: unknown, limit: number): Beginning => {
  let text = ""
  let size = 0
  const put = (piece: string): void => {
    const room = limit - text.length
    if (room > 0) text += piece.length > room ? piece.slice(0, room) : piece
    size += piece.length
  }
  const putString = (string: string): void => {
    const room = limit - text.length
    if (room > 0) text += JSON.stringify(string.slice(0, room)).slice(0, room)
    size += string.length + 2
  }
  const putAll = (
    [open, close]: readonly [string, string],
    items: ReadonlyArray<readonly [string | undefined, unknown]>,
    indent: string
  ): void => {
    put(open)
    for (const [index, [name, item]] of items.entries()) {
      put(`${index === 0 ? "" : ","}\n${indent}  `)
      if (name !== undefined) {
        putString(name)
        put(": ")
      }
      walk(item, `${indent}  `)
    }
    put(items.length === 0 ? close : `\n${indent}${close}`)
  }
  const walk = (part: unknown, indent: string): void => {
    if (typeof part === "string") putString(part)
    else if (Array.isArray(part)) {
      putAll(
        ["[", "]"],
        part.map((item) => [undefined, item]),
        indent
      )
    } else if (typeof part === "object" && part !== null) {
      putAll(
        ["{", "}"],
        Object.entries(part).filter(([, item]) => item !== undefined),
        indent
      )
    } else put(String(part))
  }
  walk(value, "")
  return { text, size }
}

/** A short text as HTML. */
export const shortText = (text: string): string =>
  text.length <= maxText ? html(text) : `${html(text.slice(0, maxText))}… (${text.length} characters)`

const count = (n: number): string => n.toLocaleString("en-US")

/** What all bodies of a page may take together, in characters of HTML. */
export interface BodyRoom {
  left: number
}

/**
 * A body as HTML: its beginning with the size of the whole, or a line that says that the page has no room left. `body`
 * makes a beginning of at most so many characters; it is called only when there is room.
 */
export const bodyHtml = (body: (limit: number) => Beginning, room: BodyRoom): string => {
  if (room.left <= 0) return `<p class="faint">not shown: the page has room for the newest bodies only</p>`
  const { size, text } = body(Math.min(maxBody, room.left))
  const shown = html(text)
  room.left -= shown.length
  const rest =
    size > text.length ? `<p class="faint">the first ${count(text.length)} of ${count(size)} characters</p>` : ""
  return `<pre>${shown}</pre>${rest}`
}

/** The most that a section of a page shows; `characters` of HTML. */
export interface SectionLimit {
  readonly rows: number
  readonly characters: number
}

/**
 * Rows for the newest items that fit, oldest first. Newest are made first, so that they get the room for bodies. Yields
 * after each row.
 */
export function* newest<A>(
  items: ReadonlyArray<A>,
  limit: SectionLimit,
  row: (item: A, index: number) => string
): Generator<void, ReadonlyArray<string>> {
  const rows: Array<string> = []
  let left = limit.characters
  for (const [fromEnd, item] of items.slice(-limit.rows).toReversed().entries()) {
    const made = row(item, items.length - 1 - fromEnd)
    left -= made.length
    if (left < 0) break
    rows.push(made)
    yield
  }
  return rows.toReversed()
}

/** A section with the newest rows, and a line that says so and where the rest is. No items: no section. */
export function* section<A>(
  heading: string,
  items: ReadonlyArray<A>,
  limit: SectionLimit,
  row: (item: A, index: number) => string,
  options: { readonly intro?: string; readonly rest: string; readonly list: boolean }
): Generator<void, string> {
  if (items.length === 0) return ""
  const rows = yield* newest(items, limit, row)
  const hint =
    rows.length === items.length
      ? ""
      : `<p class="faint">the newest ${count(rows.length)} of ${count(items.length)}; ${html(options.rest)}</p>`
  const all = rows.join("")
  return `<h2>${html(heading)}</h2>${options.intro ?? ""}${hint}${options.list ? `<ol>${all}</ol>` : all}`
}

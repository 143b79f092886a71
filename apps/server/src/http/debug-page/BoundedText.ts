import { type Beginning, type BodyRoom, maxBody } from "@svc/conversation/BoundedJson"
import { html } from "../documents/Html.ts"

/** The largest part of a text in a row: what was said, an error. In characters. */
const maxText = 1_000

/** A short text as HTML. */
export const shortText = (text: string): string =>
  text.length <= maxText ? html(text) : `${html(text.slice(0, maxText))}… (${text.length} characters)`

/** A short text as HTML, with links to the guides that it names, such as `docs/calls.md`. For pages two folders deep. */
export const linkedText = (text: string): string =>
  shortText(text).replace(
    /\bdocs\/([a-z-]+(?:\/[a-z-]+)*)\.md\b/g,
    (file, guide: string) => `<a href="../../guides/${guide}">${file}</a>`
  )

const count = (n: number): string => n.toLocaleString("en-US")

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

/** Rows for the newest items that fit, oldest first. Newest are made first, so that they get the room for bodies. Yields after each. */
function* newest<A>(
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

const idOf = (heading: string): string => heading.toLowerCase().replace(/[^a-z]+/g, "-")

/**
 * A section with the newest rows, and a line that says so and where the rest is. `leftOut`: how many items there were
 * before these. No items: no section.
 */
export function* section<A>(
  heading: string,
  items: ReadonlyArray<A>,
  limit: SectionLimit,
  row: (item: A, index: number) => string,
  options: {
    readonly intro?: string
    readonly rest: string
    readonly list: boolean
    readonly leftOut?: number
  }
): Generator<void, string> {
  if (items.length === 0) return ""
  const rows = yield* newest(items, limit, row)
  const total = items.length + (options.leftOut ?? 0)
  const hint =
    rows.length === total
      ? ""
      : `<p class="faint">the newest ${count(rows.length)} of ${count(total)}; ${html(options.rest)}</p>`
  const all = rows.join("")
  const id = idOf(heading)
  return `<section aria-labelledby="${id}"><h2 id="${id}">${html(heading)}</h2>${options.intro ?? ""}${hint}${options.list ? `<ol>${all}</ol>` : all}</section>`
}

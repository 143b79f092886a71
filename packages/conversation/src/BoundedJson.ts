/** The largest part of one body that is shown, in characters. */
export const maxBody = 16_384

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

/** What bodies may take together, in characters. */
export interface BodyRoom {
  left: number
}

/**
 * A JSON value as it is when it fits, else its beginning as text, with the size of the whole; null when there is no room
 * left.
 */
export const boundedBody = (value: unknown, room: BodyRoom): unknown => {
  if (value === null || room.left <= 0) return null
  const { size, text } = jsonBeginning(value, Math.min(maxBody, room.left))
  room.left -= text.length
  return size <= text.length ? value : `${text}… (${size} characters)`
}

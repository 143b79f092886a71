/** What the grammar of RFC 3261, 25.1 has in many places: tokens, quoted strings, lists and parameters. */

/** A parameter of a header or URI. `value` is without quotes and escapes; undefined when there is no `=`. */
export interface Param {
  readonly name: string
  readonly value: string | undefined
}

export type Params = ReadonlyArray<Param>

const token = /^[A-Za-z0-9\-.!%*_+`'~]+$/

/** Whether a text is a `token`. */
export const isToken = (text: string): boolean => token.test(text)

/** Whether a text is `host [":" port]` of the grammar, where names may also have underscores, as many have. */
export const hostPort = (text: string): { readonly host: string; readonly port: number | undefined } | undefined => {
  const match = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,253}))(?:\s*:\s*(\d{1,5}))?$/.exec(text)
  if (match?.[1] === undefined) return undefined
  const port = match[2] === undefined ? undefined : Number(match[2])
  return port !== undefined && (port < 1 || port > 65_535) ? undefined : { host: match[1], port }
}

/** A decimal number without sign, at most `most`; undefined when the text is none. */
export const decimal = (text: string, most: number): number | undefined => {
  if (!/^\d{1,16}$/.test(text)) return undefined
  const value = Number(text)
  return value > most ? undefined : value
}

/** The index after the quoted string that begins at `start`, or -1 when it does not end. */
export const endOfQuoted = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++
    else if (text[at] === '"') return at + 1
  }
  return -1
}

/** The characters of a quoted string, without quotes and escapes. */
export const unquote = (quoted: string): string => quoted.slice(1, -1).replace(/\\([\s\S])/g, "$1")

/** A text as a quoted string. Line breaks, which cannot be in one, become spaces. */
export const quote = (text: string): string => `"${text.replace(/[\r\n]+/g, " ").replace(/["\\]/g, "\\$&")}"`

/**
 * Splits at a separator that is neither in a quoted string nor in angle brackets, and trims the parts. Undefined when a
 * quote or bracket does not end.
 */
export const split = (text: string, separator: "," | ";"): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = []
  let from = 0
  let at = 0
  while (at < text.length) {
    const character = text[at]
    if (character === '"') {
      at = endOfQuoted(text, at)
      if (at < 0) return undefined
      continue
    }
    if (character === "<") {
      at = text.indexOf(">", at)
      if (at < 0) return undefined
    } else if (character === separator) {
      parts.push(text.slice(from, at).trim())
      from = at + 1
    }
    at++
  }
  parts.push(text.slice(from).trim())
  return parts
}

const paramValue = (text: string): string | undefined => {
  if (text.startsWith('"')) return endOfQuoted(text, 0) === text.length ? unquote(text) : undefined
  return isToken(text) || /^\[?[0-9A-Fa-f:.]+\]?$/.test(text) ? text : undefined
}

const param = (text: string): Param | undefined => {
  const equals = text.indexOf("=")
  const name = (equals < 0 ? text : text.slice(0, equals)).trim()
  if (!isToken(name)) return undefined
  if (equals < 0) return { name, value: undefined }
  const value = paramValue(text.slice(equals + 1).trim())
  return value === undefined ? undefined : { name, value }
}

/** The parameters of a header, from a text such as `;tag=1;lr`, or empty. Undefined when it is malformed. */
export const params = (text: string): Params | undefined => {
  const trimmed = text.trim()
  if (trimmed === "") return []
  const parts = split(trimmed, ";")
  if (parts === undefined || parts[0] !== "") return undefined
  const found: Array<Param> = []
  for (const part of parts.slice(1)) {
    const parsed = param(part)
    if (parsed === undefined) return undefined
    found.push(parsed)
  }
  return found
}

/** The value of a parameter, whose name ignores case: empty when it has none, undefined when it is not there. */
export const paramOf = (list: Params, name: string): string | undefined => {
  const found = list.find((each) => each.name.toLowerCase() === name)
  return found === undefined ? undefined : (found.value ?? "")
}

/** Parameters as text, `;name=value` each, quoted where the value needs it. */
export const paramsText = (list: Params): string =>
  list
    .map(({ name, value }) => {
      if (value === undefined) return `;${name}`
      return `;${name}=${isToken(value) || /^\[?[0-9A-Fa-f:.]+\]?$/.test(value) ? value : quote(value)}`
    })
    .join("")

/** A list of parameters with one set, in its place or at the end. */
export const withParam = (list: Params, name: string, value: string | undefined): Params => {
  const at = list.findIndex((each) => each.name.toLowerCase() === name)
  return at < 0 ? [...list, { name, value }] : list.map((each, index) => (index === at ? { name, value } : each))
}

import { endOfQuoted, isToken, type Params, params, paramsText, quote, unquote } from "./Syntax.ts"
import * as Uri from "./Uri.ts"

/** A value of From, To, Contact, Route and the like: a URI with the name of a person and parameters of the header. */
export interface NameAddr {
  /** The display name without quotes; empty when there is none. */
  readonly name: string
  readonly uri: Uri.Uri
  readonly params: Params
}

/** The display name before `<`, and the index of `<`; undefined when it is malformed. */
const displayName = (text: string): { readonly name: string; readonly open: number } | undefined => {
  if (text.startsWith('"')) {
    const end = endOfQuoted(text, 0)
    if (end < 0) return undefined
    const open = text.indexOf("<", end)
    return open < 0 || text.slice(end, open).trim() !== "" ? undefined : { name: unquote(text.slice(0, end)), open }
  }
  const open = text.indexOf("<")
  const name = text.slice(0, open).trim()
  return open < 0 || (name !== "" && !name.split(/\s+/).every(isDisplayToken)) ? undefined : { name, open }
}

/** The grammar has ASCII tokens here; peers also send names in UTF-8 without quotes. */
const isDisplayToken = (word: string): boolean => isToken(word.replace(/[^\x00-\x7f]/g, "x"))

/** Parses one value, without those after a comma; undefined when it is malformed. */
export const parse = (value: string): NameAddr | undefined => {
  const text = value.trim()
  if (text.startsWith('"') || text.includes("<")) {
    const display = displayName(text)
    if (display === undefined) return undefined
    const close = text.indexOf(">", display.open)
    if (close < 0) return undefined
    const uri = Uri.parse(text.slice(display.open + 1, close))
    const list = params(text.slice(close + 1))
    return uri === undefined || list === undefined ? undefined : { name: display.name, uri, params: list }
  }
  // Without brackets, parameters belong to the header, and the URI has no comma, question mark or semicolon.
  const end = text.search(/[\s;]/)
  const address = end < 0 ? text : text.slice(0, end)
  const uri = /[,?]/.test(address) ? undefined : Uri.parse(address)
  const list = end < 0 ? [] : params(text.slice(end))
  return uri === undefined || list === undefined ? undefined : { name: "", uri, params: list }
}

/** One value as text, with the URI in brackets. */
export const text = ({ name, params: list, uri }: NameAddr): string =>
  `${name === "" ? "" : `${quote(name)} `}<${Uri.text(uri)}>${paramsText(list)}`

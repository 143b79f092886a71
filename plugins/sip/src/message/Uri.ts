import { hostPort, type Param, type Params } from "./Syntax.ts"

/** A SIP or SIPS URI (RFC 3261, 19.1). Escapes are decoded in all parts; `host` keeps the brackets of IPv6. */
export interface SipUri {
  readonly _tag: "Sip"
  readonly scheme: "sip" | "sips"
  readonly user: string | undefined
  readonly password: string | undefined
  readonly host: string
  readonly port: number | undefined
  readonly params: Params
  /** The headers after `?`. */
  readonly headers: Params
}

/** A tel URI (RFC 3966). `number` is as written, with its separators. */
export interface TelUri {
  readonly _tag: "Tel"
  readonly number: string
  readonly params: Params
}

/** A URI of another scheme, as written. */
export interface OtherUri {
  readonly _tag: "Other"
  readonly scheme: string
  readonly text: string
}

export type Uri = SipUri | TelUri | OtherUri

const userCharacters = /^(?:[A-Za-z0-9\-_.!~*'()&=+$,;?/]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])+$/
const passwordCharacters = /^(?:[A-Za-z0-9\-_.!~*'()&=+$,]|%[0-9A-Fa-f]{2})*$/
const paramCharacters = /^(?:[A-Za-z0-9\-_.!~*'()[\]/:&+$]|%[0-9A-Fa-f]{2})+$/
const headerCharacters = /^(?:[A-Za-z0-9\-_.!~*'()[\]/?:+$]|%[0-9A-Fa-f]{2})*$/

/** Decodes `%HH` as UTF-8; bytes that are not UTF-8 become U+FFFD. Never throws. */
const decoded = (text: string): string =>
  text.includes("%")
    ? text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"))
    : text

const escapeWith = (text: string, allowed: RegExp): string =>
  Array.from(text, (character) =>
    allowed.test(character)
      ? character
      : [...Buffer.from(character, "utf8")]
          .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
          .join("")
  ).join("")

const pairs = (text: string, separator: string, allowed: RegExp): Params | undefined => {
  const found: Array<Param> = []
  for (const part of text.split(separator)) {
    const equals = part.indexOf("=")
    const name = equals < 0 ? part : part.slice(0, equals)
    const value = equals < 0 ? undefined : part.slice(equals + 1)
    if (!paramCharacters.test(name) || (value !== undefined && !allowed.test(value))) return undefined
    found.push({ name: decoded(name), value: value === undefined ? undefined : decoded(value) })
  }
  return found
}

const sipUri = (scheme: "sip" | "sips", rest: string): SipUri | undefined => {
  const at = rest.indexOf("@")
  if (at !== rest.lastIndexOf("@")) return undefined
  const userinfo = at < 0 ? undefined : rest.slice(0, at)
  const [, address = "", paramText, headerText] =
    /^(\[[^\]]*\](?::\d+)?|[^;?[]*)(?:;([^?]*))?(?:\?([\s\S]*))?$/.exec(rest.slice(at + 1)) ?? []
  const where = hostPort(address)
  if (where === undefined || /\s/.test(address)) return undefined
  const colon = userinfo?.indexOf(":") ?? -1
  const user = colon < 0 ? userinfo : userinfo?.slice(0, colon)
  const password = colon < 0 ? undefined : userinfo?.slice(colon + 1)
  if (user !== undefined && !userCharacters.test(user)) return undefined
  if (password !== undefined && !passwordCharacters.test(password)) return undefined
  const params = paramText === undefined ? [] : pairs(paramText, ";", paramCharacters)
  const headers = headerText === undefined ? [] : pairs(headerText, "&", headerCharacters)
  if (params === undefined || headers === undefined) return undefined
  return {
    _tag: "Sip",
    scheme,
    user: user === undefined ? undefined : decoded(user),
    password: password === undefined ? undefined : decoded(password),
    ...where,
    params,
    headers
  }
}

const telUri = (rest: string): TelUri | undefined => {
  const [number = "", ...params] = rest.split(";")
  const global = number.startsWith("+")
  const characters = global ? /^\+[\d\-.()]+$/ : /^[\dA-Fa-f*#\-.()]+$/
  if (!characters.test(number) || !(global ? /\d/ : /[\dA-Fa-f*#]/).test(number)) return undefined
  const parsed = params.length === 0 ? [] : pairs(params.join(";"), ";", paramCharacters)
  return parsed === undefined ? undefined : { _tag: "Tel", number, params: parsed }
}

/** Parses a URI without spaces around it; undefined when it is malformed. */
export const parse = (text: string): Uri | undefined => {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):([^\s<>"]+)$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  const scheme = match[1].toLowerCase()
  if (scheme === "sip" || scheme === "sips") return sipUri(scheme, match[2])
  return scheme === "tel" ? telUri(match[2]) : { _tag: "Other", scheme, text }
}

/** Characters of the names of parameters that stand as they are; in headers `&` separates (RFC 3261, 25.1). */
const nameCharacters = { ";": /[A-Za-z0-9\-_.!~*'()[\]/:&+$]/, "&": /[A-Za-z0-9\-_.!~*'()[\]/:+$]/ }

const joined = (list: Params, first: string, between: ";" | "&", allowed: RegExp): string =>
  list
    .map(({ name, value }, index) => {
      const equals = value === undefined ? "" : `=${escapeWith(value, allowed)}`
      return `${index === 0 ? first : between}${escapeWith(name, nameCharacters[between])}${equals}`
    })
    .join("")

/** A URI as text. */
export const text = (uri: Uri): string => {
  if (uri._tag === "Other") return uri.text
  const params = joined(uri.params, ";", ";", /[A-Za-z0-9\-_.!~*'()[\]/:&+$]/)
  if (uri._tag === "Tel") return `tel:${uri.number}${params}`
  const password = uri.password === undefined ? "" : `:${escapeWith(uri.password, /[A-Za-z0-9\-_.!~*'()&=+$,]/)}`
  const user = uri.user === undefined ? "" : `${escapeWith(uri.user, /[A-Za-z0-9\-_.!~*'()&=+$,;?/]/)}${password}@`
  const port = uri.port === undefined ? "" : `:${uri.port}`
  return `${uri.scheme}:${user}${uri.host}${port}${params}${joined(uri.headers, "?", "&", /[A-Za-z0-9\-_.!~*'()[\]/?:+$]/)}`
}

const byName = (list: Params): ReadonlyMap<string, string> =>
  new Map(list.map(({ name, value }) => [name.toLowerCase(), (value ?? "").toLowerCase()]))

/** Parameters that make two URIs different when only one has them (RFC 3261, 19.1.4). */
const significant: ReadonlyArray<string> = ["user", "ttl", "method", "maddr", "transport"]

const sameParams = (one: Params, other: Params): boolean => {
  const left = byName(one)
  const right = byName(other)
  if (significant.some((name) => left.has(name) !== right.has(name))) return false
  return [...left].every(([name, value]) => !right.has(name) || right.get(name) === value)
}

const sameAll = (one: Params, other: Params): boolean => {
  const left = byName(one)
  const right = byName(other)
  return left.size === right.size && [...left].every(([name, value]) => right.get(name) === value)
}

/** Whether two URIs are equal by RFC 3261, 19.1.4, or tel URIs by RFC 3966, 4. */
export const equal = (one: Uri, other: Uri): boolean => {
  if (one._tag === "Sip" && other._tag === "Sip") {
    return (
      one.scheme === other.scheme &&
      one.user === other.user &&
      one.password === other.password &&
      one.host.toLowerCase() === other.host.toLowerCase() &&
      one.port === other.port &&
      sameParams(one.params, other.params) &&
      sameAll(one.headers, other.headers)
    )
  }
  if (one._tag === "Tel" && other._tag === "Tel") {
    const digits = (number: string) => number.replace(/[-.()]/g, "").toLowerCase()
    return digits(one.number) === digits(other.number) && sameAll(one.params, other.params)
  }
  return one._tag === "Other" && other._tag === "Other" && one.text === other.text
}

/** A SIP URI of a host, with what is given besides. */
export const make = (host: string, rest: Partial<Omit<SipUri, "_tag" | "host">> = {}): SipUri => ({
  _tag: "Sip",
  scheme: "sip",
  user: undefined,
  password: undefined,
  port: undefined,
  params: [],
  headers: [],
  ...rest,
  host
})

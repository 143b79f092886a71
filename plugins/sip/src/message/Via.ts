import { hostPort, isToken, type Params, params, paramsText } from "./Syntax.ts"

/** A value of Via (RFC 3261, 20.42). */
export interface Via {
  /** In capitals: `UDP`, `TCP`, `TLS`. */
  readonly transport: string
  readonly host: string
  readonly port: number | undefined
  readonly params: Params
}

/** Protocol and sent-by, without parameters: enough to answer a request with a malformed Via. */
export const parseSentBy = (value: string): Omit<Via, "params"> | undefined => {
  const match = /^\s*SIP\s*\/\s*2\.0\s*\/\s*(\S+)\s+([^;,\s]+(?:\s*:\s*\d+)?)\s*(?=[;,]|$)/i.exec(value)
  if (match?.[1] === undefined || match[2] === undefined || !isToken(match[1])) return undefined
  const where = hostPort(match[2])
  return where === undefined ? undefined : { transport: match[1].toUpperCase(), ...where }
}

/** Parses one value; undefined when it is malformed. */
export const parse = (value: string): Via | undefined => {
  const semicolon = value.indexOf(";")
  const sentBy = parseSentBy(semicolon < 0 ? value : value.slice(0, semicolon))
  const list = semicolon < 0 ? [] : params(value.slice(semicolon))
  return sentBy === undefined || list === undefined ? undefined : { ...sentBy, params: list }
}

/** One value as text. */
export const text = ({ host, params: list, port, transport }: Via): string =>
  `SIP/2.0/${transport} ${host}${port === undefined ? "" : `:${port}`}${paramsText(list)}`

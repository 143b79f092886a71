/**
 * Why a request to the URL of a customer got no complete answer, for people. Without Effect, so that worker threads can
 * use it too.
 */

/**
 * What kind of fault it is. `svc`: of this server. `closed`, `timeout` and `invalid-http` may concern one page alone, the
 * others the host.
 */
export type ConnectionCause =
  | "blocked"
  | "dns"
  | "refused"
  | "unreachable"
  | "tls"
  | "not-http"
  | "closed"
  | "timeout"
  | "invalid-http"
  | "svc"

/** A fault, without addresses, and without text of a library. */
export interface ConnectionFault {
  readonly cause: ConnectionCause
  /** What is wrong: a clause about the URL or Svc, such as `its server refused the connection`. */
  readonly what: string
  /** What to do about it: a sentence without its full stop, or null. */
  readonly advice: string | null
}

const fault = (cause: ConnectionCause, what: string, advice: string | null = null): ConnectionFault => ({
  cause,
  what,
  advice
})

const blocked = fault(
  "blocked",
  "its address, scheme or port is blocked by SSRF filter",
  "Give a public https address with the usual port"
)
/** No name server knows the host. */
export const notFound = fault("dns", "its host name was not found", "Check its spelling")
const noNames = fault("dns", "its host name could not be looked up, because the name server did not answer")
const refused = fault("refused", "its server refused the connection", "Check that it runs, and the port")
const unreachable = fault("unreachable", "its server cannot be reached", "Check that it is online, and its firewall")
const late = fault(
  "unreachable",
  "its server did not accept a connection in time",
  "Check that it is online, and its firewall"
)
const expired = fault("tls", "its TLS certificate has expired", "Renew it")
const early = fault("tls", "its TLS certificate is not valid yet", "Check its dates, and the clock of this server")
const otherHost = fault("tls", "its TLS certificate is for another host name", "Use one for the host name of the URL")
const selfSigned = fault("tls", "its TLS certificate is self-signed", "Use one that a public authority has signed")
const unknownIssuer = fault(
  "tls",
  "its TLS certificate is not signed by an authority that is known here",
  "Check that its server sends the intermediate certificates too"
)
const notTls = fault("tls", "its server does not speak TLS at this port, which https needs", "Check the port")
const noCommonTls = fault(
  "tls",
  "its server and this one agree on no TLS connection",
  "Check its TLS versions and ciphers, and that it demands no client certificate"
)
const notHttp = fault("not-http", "its server does not speak HTTP at this port", "Check the port")
const closed = fault(
  "closed",
  "its server closed the connection before its response was complete",
  "Look in the log of that server"
)
const closedInTls = fault(
  "tls",
  "its server closed the connection before TLS was set up",
  "Check the port, and that its server speaks TLS there"
)
const wrongLength = fault("closed", "its server sent more or fewer bytes than its Content-Length says")
const stopped = fault("svc", "Svc was stopped before the response was complete")
const notPermitted = fault(
  "svc",
  "the system of Svc does not permit the connection",
  "The operator of this server can check its firewall"
)
const exhausted = fault(
  "svc",
  "Svc has no connection to spare",
  "The operator of this server can raise its limit of open files"
)
const silent = fault("timeout", "its server did not send its response in time", "Look in the log of that server")
const invalidHttp = fault("invalid-http", "the response of its server is not valid HTTP")
const largeHeaders = fault("invalid-http", "the headers of its response are too large")

/** By the codes of Node, OpenSSL and undici, and by that of `BlockedAddress`. */
const faults: { readonly [code: string]: ConnectionFault } = {
  SVC_BLOCKED_ADDRESS: blocked,
  ENOTFOUND: notFound,
  ENODATA: notFound,
  EAI_NODATA: notFound,
  EAI_NONAME: notFound,
  EAI_AGAIN: noNames,
  EAI_FAIL: noNames,
  ECONNREFUSED: refused,
  EHOSTUNREACH: unreachable,
  EHOSTDOWN: unreachable,
  ENETUNREACH: unreachable,
  ENETDOWN: unreachable,
  EACCES: notPermitted,
  EPERM: notPermitted,
  EMFILE: exhausted,
  ENFILE: exhausted,
  ENOBUFS: exhausted,
  EADDRNOTAVAIL: exhausted,
  ETIMEDOUT: late,
  UND_ERR_CONNECT_TIMEOUT: late,
  ERR_TLS_HANDSHAKE_TIMEOUT: late,
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: early,
  ERR_TLS_CERT_ALTNAME_INVALID: otherHost,
  HOSTNAME_MISMATCH: otherHost,
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: selfSigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
  ERR_SSL_HTTP_REQUEST: notTls,
  ECONNRESET: closed,
  ECONNABORTED: closed,
  EPIPE: closed,
  UND_ERR_SOCKET: closed,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: wrongLength,
  UND_ERR_DESTROYED: stopped,
  UND_ERR_CLOSED: stopped,
  UND_ERR_HEADERS_TIMEOUT: silent,
  UND_ERR_BODY_TIMEOUT: silent,
  UND_ERR_HEADERS_OVERFLOW: largeHeaders
}

const textOf = (error: unknown, key: "code" | "name" | "message"): string => {
  const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, key) : undefined
  return typeof value === "string" ? value : ""
}

/** What an error says by itself; undefined when its code is not known. */
const known = (error: unknown): ConnectionFault | undefined => {
  const message = textOf(error, "message")
  // The parser's errors have no codes.
  if (textOf(error, "name") === "HTTPParserError") return message.includes("Expected HTTP/") ? notHttp : invalidHttp
  const code = textOf(error, "code")
  if (code === "ECONNRESET" && message.includes("before secure TLS connection")) return closedInTls
  if (Object.hasOwn(faults, code)) return faults[code]
  if (!/^(EPROTO$|ERR_SSL_)/.test(code)) return undefined
  // Some versions of Node give all errors of OpenSSL one code.
  return /wrong version number|packet length too long|http request/.test(message) ? notTls : noCommonTls
}

/**
 * The fault behind an error of undici. Its innermost error says most: Node reports a failure of all addresses of a host
 * as one error, and an abrupt end may carry the error of the socket.
 */
export const connectionFault = (error: unknown): ConnectionFault => {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  const cause: unknown = error instanceof Error ? error.cause : undefined
  const all = [cause, inner, error]
  const source = all.find((one) => known(one) !== undefined) ?? all.find((one) => textOf(one, "code") !== "")
  const words = known(source)
  if (words !== undefined) return words
  const code = textOf(source, "code")
  const named = /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : ""
  return /CERT|CRL|^INVALID_(CA|PURPOSE)$|^ERR_TLS_/.test(code)
    ? fault("tls", `its TLS certificate was not accepted${named}`)
    : fault("closed", `the connection failed${named}`)
}

/** What is wrong, and what to do about it. */
export const withAdvice = ({ advice, what }: ConnectionFault): string => (advice === null ? what : `${what}. ${advice}`)

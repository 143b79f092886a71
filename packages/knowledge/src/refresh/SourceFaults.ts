import type { UrlFault } from "@svc/urls/UrlSafety/Refusal"

/**
 * Why a source could not be requested, in words for the owner of the base. Each is the end of a sentence that begins with
 * the URL.
 */

const setting = "The operator of this server can allow it with SVC_ALLOW_PRIVATE_URLS=true"

const refusals: { readonly [fault in UrlFault]: string } = {
  length: "the address is longer than 2048 characters",
  form: "the address is not a valid URL",
  scheme: "only addresses that begin with https:// can be read",
  credentials: "the address contains a user name or password, which is not allowed",
  http: `http is not allowed. Give the https address of the page. ${setting}`,
  "http and private address": `http and private addresses are not allowed. Give a public https address. ${setting}`,
  "private address": `its host has a private address, which is not allowed. Give a public address. ${setting}`,
  "reserved address": "its host has a reserved address, which is never requested. Give a public address",
  name: "its host name was not found. Check its spelling",
  port: "its port is not allowed, because it is that of another kind of service. Use port 443"
}

/** Why a URL is refused. */
export const refusalWords = (fault: UrlFault): string => `cannot be read: ${refusals[fault]}`

/** Why a request got no response. */
export interface ConnectionFault {
  readonly words: string
  /** Whether it concerns the host, and so each of its pages. */
  readonly isOfHost: boolean
}

const notFound = "its host name was not found. Check its spelling"
const unreachable = "its server cannot be reached. Check that it is online, and its firewall"
const late = "its server did not accept a connection in time. Check that it is online, and its firewall"
const selfSigned = "its TLS certificate is self-signed. Use one that a public authority has signed"
const unknownIssuer =
  "its TLS certificate is not signed by an authority that is known here. Check that its server sends the intermediate certificates too"
const notTls = "its server does not speak TLS at this port, which https needs. Check the port"

/** By the codes of Node, OpenSSL and undici. */
const hostFaults: { readonly [code: string]: string } = {
  ENOTFOUND: notFound,
  ENODATA: notFound,
  EAI_AGAIN: "its host name could not be looked up, because the name server did not answer",
  ECONNREFUSED: "its server refused the connection. Check that it runs, and the port",
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: late,
  UND_ERR_CONNECT_TIMEOUT: late,
  SVC_BLOCKED_ADDRESS: "its host has an address that is not allowed, such as a private one. Give a public address",
  CERT_HAS_EXPIRED: "its TLS certificate has expired. Renew it",
  CERT_NOT_YET_VALID: "its TLS certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its TLS certificate is for another host name",
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: selfSigned,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  ERR_SSL_WRONG_VERSION_NUMBER: notTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls
}

const closed = "its server closed the connection before its response was complete"
const responseFaults: { readonly [code: string]: string } = {
  ECONNRESET: closed,
  EPIPE: closed,
  UND_ERR_SOCKET: closed,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "its server sent more or fewer bytes than its Content-Length says",
  UND_ERR_HEADERS_OVERFLOW: "the headers of its response are too large"
}

const textOf = (error: unknown, key: "code" | "name" | "message"): string => {
  const value = typeof error === "object" && error !== null ? Reflect.get(error, key) : undefined
  return typeof value === "string" ? value : ""
}

const wordsOf = (code: string, message: string): ConnectionFault => {
  const ofHost = (words: string) => ({ words, isOfHost: true })
  const ofResponse = (words: string) => ({ words, isOfHost: false })
  if (Object.hasOwn(hostFaults, code)) return ofHost(hostFaults[code] ?? "")
  if (Object.hasOwn(responseFaults, code)) return ofResponse(responseFaults[code] ?? "")
  if (/^(EPROTO$|ERR_SSL_)/.test(code)) {
    // Node 20 gives all errors of OpenSSL one code.
    const isPlain = /wrong version number|packet length too long|http request/.test(message)
    return ofHost(
      isPlain ? notTls : "its server and this one agree on no TLS connection. Check its TLS versions and ciphers"
    )
  }
  if (/CERT|^ERR_TLS_/.test(code)) return ofHost(`its TLS certificate was not accepted (${code})`)
  return ofResponse(`the connection failed${code === "" ? "" : ` (${code})`}`)
}

/** The parser's errors have no codes. */
const notHttp = (message: string): ConnectionFault =>
  message.includes("Expected HTTP/")
    ? { words: "its server does not speak HTTP at this port. Check the port", isOfHost: true }
    : { words: "the response of its server is not valid HTTP", isOfHost: false }

/** Why a request got no complete response, by the error of undici. */
export const connectionFault = (error: unknown): ConnectionFault => {
  // Node reports a failure of all addresses of a host as one error, which not always has a code.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const message = textOf(first, "message")
  const { isOfHost, words } =
    textOf(first, "name") === "HTTPParserError"
      ? notHttp(message)
      : wordsOf(textOf(error, "code") || textOf(first, "code"), message)
  return { words: `cannot be read: ${words}`, isOfHost }
}

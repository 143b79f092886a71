import type { FaultCause } from "@svc/conversation/answers/ServerFault"
import { Predicate } from "effect"

/** Why there was no HTTP answer: its cause, and the same in words without addresses. */
export interface ConnectionFault {
  readonly cause: FaultCause
  readonly words: string
}

/** Codes of Node, of OpenSSL and of undici. */
const causes: { readonly [code: string]: readonly [FaultCause, string] } = {
  ENOTFOUND: ["dns", "its host name could not be resolved"],
  EAI_AGAIN: ["dns", "its host name could not be resolved"],
  ECONNREFUSED: ["refused", "the connection was refused"],
  EHOSTUNREACH: ["unreachable", "its address cannot be reached"],
  ENETUNREACH: ["unreachable", "its network cannot be reached"],
  ETIMEDOUT: ["unreachable", "it did not accept the connection in time"],
  UND_ERR_CONNECT_TIMEOUT: ["unreachable", "it did not accept the connection in time"],
  ECONNRESET: ["closed", "it closed the connection without a complete answer"],
  EPIPE: ["closed", "it closed the connection without a complete answer"],
  UND_ERR_SOCKET: ["closed", "it closed the connection without a complete answer"],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ["closed", "its answer was shorter or longer than its Content-Length"],
  UND_ERR_HEADERS_OVERFLOW: ["not-http", "its headers are too large"],
  SVC_BLOCKED_ADDRESS: ["blocked", "its address is blocked by SSRF filter"],
  CERT_HAS_EXPIRED: ["tls", "its TLS certificate has expired"],
  CERT_NOT_YET_VALID: ["tls", "its TLS certificate is not valid yet"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["tls", "its TLS certificate is for another host name"],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["tls", "its TLS certificate is self-signed"],
  SELF_SIGNED_CERT_IN_CHAIN: ["tls", "its TLS certificate is self-signed"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["tls", "its TLS certificate is not signed by a known authority"],
  UNABLE_TO_GET_ISSUER_CERT: ["tls", "its TLS certificate is not signed by a known authority"],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["tls", "its TLS certificate is not signed by a known authority"],
  EPROTO: ["tls", "it does not speak TLS at that port"],
  ERR_SSL_WRONG_VERSION_NUMBER: ["tls", "it does not speak TLS at that port"]
}

const codeOf = (error: unknown): string =>
  Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : ""

/** The fault behind an error of a connection. */
export const connectionFault = (error: unknown): ConnectionFault => {
  // The error of an abrupt end may carry the one of the socket.
  const inner = Predicate.hasProperty(error, "cause") ? codeOf(error.cause) : ""
  const code = Object.hasOwn(causes, inner) ? inner : codeOf(error)
  const known = Object.hasOwn(causes, code) ? causes[code] : undefined
  if (known !== undefined) return { cause: known[0], words: `${known[1]} (${code})` }
  if (error instanceof Error && error.name === "HTTPParserError") {
    return { cause: "not-http", words: "what it sent is not HTTP" }
  }
  if (/^(ERR_TLS|ERR_SSL|CERT)_/.test(code)) return { cause: "tls", words: `the TLS connection failed (${code})` }
  return { cause: "closed", words: code === "" ? "the connection failed" : `the connection failed (${code})` }
}

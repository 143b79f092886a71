import { connectionFault, notFound, withAdvice } from "@svc/urls/ConnectionFault"
import type { UrlFault } from "@svc/urls/UrlSafety/Refusal"

/** Most characters of a URL in a reason. */
const maxUrl = 300

/** The URL of a page in a reason, without credentials. The query stays: on many sites it is all that names the page. */
export const shownPage = (url: string): string => {
  if (!URL.canParse(url)) return "The source"
  const { host, pathname, protocol, search } = new URL(url)
  return `${protocol}//${host}${pathname}${search}`.slice(0, maxUrl)
}

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
  name: withAdvice(notFound),
  port: "its port is not allowed, because it is that of another kind of service. Use port 443"
}

/** Why a URL is refused. */
export const refusalWords = (fault: UrlFault): string => `cannot be read: ${refusals[fault]}`

/** Why a request got no complete response, by the error of undici. */
export const requestFault = (error: unknown): { readonly words: string; readonly isOfHost: boolean } => {
  const found = connectionFault(error)
  return {
    words: `cannot be read: ${withAdvice(found)}`,
    isOfHost: !["closed", "timeout", "invalid-http", "svc"].includes(found.cause)
  }
}

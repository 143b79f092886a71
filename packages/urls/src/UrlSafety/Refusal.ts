import { Data } from "effect"
import { hostAllowed, hostOf, type Policy, schemeAllowed } from "./Policy.ts"

/**
 * What is wrong with a URL. `http` and `private address`: `SVC_ALLOW_PRIVATE_URLS` would allow it; `reserved address`:
 * never allowed, such as cloud metadata; `name`: the host name does not resolve.
 */
export type UrlFault =
  | "length"
  | "form"
  | "scheme"
  | "credentials"
  | "http"
  | "http and private address"
  | "private address"
  | "reserved address"
  | "name"
  | "port"

/** A URL to which no request is sent. */
export class UrlRefused extends Data.TaggedError("UrlRefused")<{ readonly fault: UrlFault }> {}

/** Which kind of address a refused host has. `isAllowed` says whether a policy allows it. */
export const addressFault = (isAllowed: (policy: Policy) => boolean): "private address" | "reserved address" =>
  isAllowed("private") ? "private address" : "reserved address"

/** Parses a URL with an allowed scheme and no credentials. This also normalizes unusual notations of the host. */
export const parse = (text: string, policy: Policy): URL | UrlFault => {
  if (/^[a-z][a-z\d+.-]*:/i.test(text) && !/^https?:/i.test(text)) return "scheme"
  // The parser accepts white space, control characters, backslashes and empty credentials, which other clients read
  // differently.
  if (!/^https?:\/\/[^/\\?#]/i.test(text) || /[\s\\\u0000-\u001f\u007f-\u009f]/.test(text)) return "form"
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return "credentials"
  if (!URL.canParse(text)) return "form"
  const url = new URL(text)
  if (url.username !== "" || url.password !== "") return "credentials"
  // A name with an empty label is invalid, but some resolvers accept it.
  if (url.port === "0" || hostOf(url.hostname) === "" || url.hostname.includes("..")) return "form"
  if (schemeAllowed(policy, url.protocol)) return url
  const host = hostOf(url.hostname)
  return !hostAllowed(policy, host) && hostAllowed("private", host) ? "http and private address" : "http"
}

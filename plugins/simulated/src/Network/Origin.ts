import { isIP } from "node:net"
import type { RouteRequest, RouteResponse } from "@svc/providers/Route"

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)

/**
 * Whether a name is this machine's whatever a name server says. Another name in `Host` proves nothing: a web page can
 * point its own name at this machine after it was loaded (DNS rebinding).
 */
const isFixed = (hostname: string): boolean =>
  isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 || /^(?:.+\.)?localhost$/.test(hostname)

/** The 403 for a request of a foreign web page; undefined without `Origin`, and for a page of this server itself. */
export type RefuseForeign = (request: RouteRequest) => RouteResponse | undefined

/**
 * Refuses requests of web pages that are not this server's: a page in a developer's browser must not place calls or read
 * text messages. Browsers send `Origin` with each WebSocket handshake and cross-origin request (RFC 6454, 7). `baseUrl`:
 * the server's public URL, if it has one.
 */
export const refuseForeign =
  (baseUrl: string | undefined): RefuseForeign =>
  ({ headers }) => {
    const { host = "", origin } = headers
    if (origin === undefined) return undefined
    const page = urlOf(origin)
    // With the page's protocol, so that a default port counts as none on both sides.
    const own = page === undefined ? undefined : urlOf(`${page.protocol}//${host}`)
    const isOwn =
      page !== undefined &&
      ((page.host === own?.host && isFixed(page.hostname)) ||
        (baseUrl !== undefined && page.host === urlOf(baseUrl)?.host))
    if (page?.host !== "" && isOwn) return undefined
    const message =
      "the simulated network takes no requests of web pages of other servers (Origin); without a browser, leave Origin out"
    return {
      status: 403,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: "FORBIDDEN_ORIGIN", message, error: message })
    }
  }

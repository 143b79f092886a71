import type { RouteRequest } from "@svc/providers/Route"

const urlOf = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)

/** Whether a text is the origin of web pages, such as `https://www.example.com`. */
export const isOrigin = (text: string): boolean => /^https?:/.test(text) && urlOf(text)?.origin === text

/**
 * Whether a request comes from our own page, or from no page. Browsers send `Origin` with each WebSocket handshake (RFC
 * 6455, 4.1); an embedded page has our origin too. `baseUrl`: the server's public URL, which proxies may not pass on.
 */
export const isOwnPage = ({ headers }: RouteRequest, baseUrl: string | null): boolean => {
  const { host = "", origin } = headers
  if (origin === undefined) return true
  const page = urlOf(origin)
  if (page === undefined) return false
  const own = [urlOf(`${page.protocol}//${host}`), baseUrl === null ? undefined : urlOf(baseUrl)]
  return page.host !== "" && own.some((url) => url?.host === page.host)
}

import { isIPv6 } from "node:net"
import type { HttpSettings } from "./HttpSettings.ts"

/**
 * The base of links to this server: `SVC_BASE_URL`, or else the listen address. Empty when a client cannot use that
 * (any free port, or all addresses of the machine): the link is then a path.
 */
export const publicAddress = ({ baseUrl, host, port }: HttpSettings): string => {
  if (baseUrl !== undefined) return baseUrl
  if (port === 0 || /^[0.:]+$/.test(host)) return ""
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

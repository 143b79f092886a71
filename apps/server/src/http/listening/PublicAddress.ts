import { isIPv6 } from "node:net"
import type { HttpSettings } from "./HttpSettings.ts"

/**
 * What comes before the path of a link to this server: `SVC_BASE_URL`, else where it listens. Empty where that says nothing
 * to a client (any free port, or all addresses of the machine): the link is then a path of this server.
 */
export const publicAddress = ({ baseUrl, host, port }: HttpSettings): string => {
  if (baseUrl !== undefined) return baseUrl
  if (port === 0 || /^[0.:]+$/.test(host)) return ""
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

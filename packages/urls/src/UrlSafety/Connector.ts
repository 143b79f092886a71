import type { LookupFunction } from "node:net"
import { buildConnector } from "undici"
import type { LookupFunction as Resolve } from "./LookupQueue.ts"
import { addressesAllowed, hostAllowed, hostOf, type Policy, schemeAllowed } from "./Policy.ts"
import { portAllowed } from "./Port.ts"

/** Connections that keep to the policy. Without Effect, so that worker threads can use it too. */

/** A connection refused because of its destination. */
export class BlockedAddress extends Error {
  override readonly name = "BlockedAddress"
  readonly code = "SVC_BLOCKED_ADDRESS"
  constructor(target: string) {
    super(`${target} blocked by SSRF filter`)
  }
}

/** In the form of Node's resolver errors, which clients distinguish by `code`. */
class HostNotFound extends Error {
  readonly code = "ENOTFOUND"
}

/** The check of addresses with the signature of `dns.lookup`. Literal addresses bypass it: see {@link connectorOf}. */
export const lookupOf =
  (policy: Policy, resolve: Resolve): LookupFunction =>
  (hostname, options, callback) => {
    const host = hostOf(hostname)
    if (!hostAllowed(policy, host)) {
      queueMicrotask(() => callback(new BlockedAddress(hostname), ""))
      return
    }
    resolve(host, (error, all) => {
      if (error !== null) return callback(error, "")
      if (!addressesAllowed(policy, all)) return callback(new BlockedAddress(hostname), "")
      const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0)
      const usable = all.filter((one) => family === 0 || one.family === family)
      const first = usable[0]
      if (first === undefined) return callback(new HostNotFound(`${hostname} has no address`), "")
      if (options.all === true) return callback(null, usable)
      return callback(null, first.address, first.family)
    })
  }

/** A connector for undici that connects only where the policy allows it. Refusals are {@link BlockedAddress} errors. */
export const connectorOf = (
  policy: Policy,
  resolve: Resolve,
  options?: buildConnector.BuildOptions
): buildConnector.connector => {
  const connect = buildConnector({ ...options, lookup: lookupOf(policy, resolve) })
  // Sockets to a literal address never call `lookup`, so those are checked here. Scheme and port again: a URL may have
  // been stored under a more permissive setting.
  return (request, callback) => {
    const { hostname, port, protocol } = request
    const allowed =
      schemeAllowed(policy, protocol) && portAllowed(policy, port) && hostAllowed(policy, hostOf(hostname))
    if (allowed) return connect(request, callback)
    const target = `${protocol}//${hostname}${port === "" ? "" : `:${port}`}`
    queueMicrotask(() => callback(new BlockedAddress(target), null))
  }
}

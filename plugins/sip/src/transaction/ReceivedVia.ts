import type { Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { paramOf, withParam } from "../message/Syntax.ts"
import * as Via from "../message/Via.ts"
import { isReliable, type Peer } from "./Peer.ts"

/** With `received` and `rport` in the topmost Via, where the response goes (RFC 3261, 18.2.1; RFC 3581). */
export const withSource = (request: Request, peer: Peer): Request => {
  const at = request.headers.findIndex(({ name }) => name === "via")
  const value = request.headers[at]?.value ?? ""
  const [first, ...rest] = Message.list({ headers: [{ name: "via", value }] }, "via") ?? []
  const via = first === undefined ? undefined : Via.parse(first)
  if (via === undefined) return request
  const hasRport = paramOf(via.params, "rport") !== undefined
  const params = hasRport ? withParam(via.params, "rport", String(peer.port)) : via.params
  const isSame = via.host.replace(/^\[|\]$/g, "") === peer.address
  const marked = isSame && !hasRport ? params : withParam(params, "received", peer.address)
  const text = [Via.text({ ...via, params: marked }), ...rest].join(", ")
  return {
    ...request,
    headers: request.headers.map((each, index) => (index === at ? { name: "via", value: text } : each))
  }
}

/**
 * Where the responses to a request go: over UDP without `rport` to its source address at the port of sent-by, 5060 where
 * it names none (RFC 3261, 18.2.2); else to where it came from (RFC 3581, 4).
 */
export const responsePeer = (request: Request, peer: Peer): Peer => {
  const via = isReliable(peer) ? undefined : Message.vias(request)?.[0]
  if (via === undefined || paramOf(via.params, "rport") !== undefined) return peer
  return { ...peer, port: via.port ?? 5060 }
}

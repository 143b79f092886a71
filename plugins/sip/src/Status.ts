import { isIPv4 } from "node:net"
import type { Route, RouteRequest, RouteResponse } from "@svc/providers/Route"
import { Effect } from "effect"
import type { LineTotals, ListedCall } from "./LiveCallList.ts"

/** A registration at a trunk. */
export interface TrunkStatus {
  /** `sip:host:port`. */
  readonly trunk: string
  /** `unregistered`: the settings ask for no registration. */
  readonly state: "registering" | "registered" | "failed" | "stopping" | "stopped" | "unregistered"
  /** Until the next REGISTER: well before the registration expires, and some time after a failure. */
  readonly next_register_in_seconds: number | null
  readonly last_error: string | null
}

/** A trunk at which we do not register. */
export const notRegistering = { state: "unregistered", next_register_in_seconds: null, last_error: null } as const

/** What `svc sip status` shows, of one process. */
export interface StatusSources {
  readonly listening: { readonly address: string; readonly port: number; readonly transports: ReadonlyArray<string> }
  readonly trunks: () => ReadonlyArray<TrunkStatus>
  readonly calls: { readonly calls: ReadonlyArray<ListedCall>; readonly ended: LineTotals }
  /** How many messages came from each ignored address. */
  readonly ignored: () => ReadonlyMap<string, number>
}

/** A number, or the user of a SIP URI, with only its first and last characters: the endpoint requires no key. */
export const masked = (address: string | null): string | null => {
  if (address === null) return null
  const number = /^sips?:([^@;]+)@/i.exec(address)?.[1] ?? address
  return number.length < 8 ? `…${number.slice(-2)}` : `${number.slice(0, 3)}…${number.slice(-3)}`
}

const callOf = (call: ListedCall) => ({
  direction: call.direction,
  from: masked(call.from),
  to: masked(call.to),
  state: call.state,
  seconds: call.seconds,
  codec: call.quality?.codec ?? null,
  packets_lost: call.quality?.packetsLost ?? null,
  packets_late: call.quality?.packetsLate ?? null,
  jitter_ms: call.quality === undefined ? null : call.quality.jitterMs
})

/** The answer: registrations, calls in progress, packet loss, and sources that are ignored, the busiest first. */
export const statusOf = ({ calls, ignored, listening, trunks }: StatusSources) => ({
  version: 1,
  listening,
  trunks: trunks(),
  calls: calls.calls.map(callOf),
  ended: {
    calls: calls.ended.calls,
    packets_lost: calls.ended.packetsLost,
    packets_late: calls.ended.packetsLate
  },
  ignored: [...ignored()].map(([address, messages]) => ({ address, messages })).sort((a, b) => b.messages - a.messages)
})

/** Whether a request comes from this machine, and not through a proxy on it. */
const isLocal = ({ headers, remoteAddress }: RouteRequest): boolean =>
  (remoteAddress === "::1" || (isIPv4(remoteAddress) && remoteAddress.startsWith("127."))) &&
  ["x-forwarded-for", "forwarded", "x-real-ip"].every((name) => headers[name] === undefined)

const notFound: RouteResponse = {
  status: 404,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ code: "ROUTE_NOT_FOUND", message: "route not found", error: "route not found" })
}

/** `GET /telephony/sip/status`, for requests from this machine; for others it does not exist. */
export const statusRoute = (sources: StatusSources): Route => ({
  _tag: "Http",
  method: "GET",
  path: "/status",
  handle: (request) =>
    Effect.sync(() =>
      isLocal(request)
        ? {
            status: 200,
            headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
            body: JSON.stringify(statusOf(sources))
          }
        : notFound
    )
})

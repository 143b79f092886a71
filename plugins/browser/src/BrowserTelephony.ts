import { healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import type { PluginError } from "@svc/providers/Plugin"
import type { Route, RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import { type IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, Queue, Schedule, Stream } from "effect"
import { Allowance } from "./Allowance.ts"
import { BrowserCall, closeCodes, format } from "./BrowserCall.ts"
import { LinkStarts } from "./LinkStarts.ts"
import { isOwnPage } from "./Origin.ts"
import * as Pages from "./Pages.ts"

/** How often calls are checked for pages that are gone. */
const checkEvery = "250 millis"

/** How long a request for a socket waits for calls of its link that start before it. */
const longestWait = "20 seconds"

/** Calls of one link that the engine may refuse at once, and in the long run, before the link has to wait. */
const refusals = { perSecond: 0.2, burst: 20 }

/** The most links of which refusals are remembered. */
const maxRemembered = 10_000

const foreign: RouteResponse = {
  status: 403,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "A call can only be started on the page of its link (Origin). To embed the page, see SVC_BROWSER_ORIGINS."
}

const count = (text: string | null): number => (text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : -1)

/**
 * Calls of web pages. `GET /<token>` is the page of a call link, `/<token>/call` its WebSocket: a connection starts a call,
 * or, with `resume` and `received`, goes on with one whose connection was lost. See `PageMessage` for the protocol.
 */
export const layer = ({
  host,
  origins
}: {
  readonly host: Pick<Host, "baseUrl" | "callsLeft" | "linkState">
  /** The origins whose pages may embed ours. */
  readonly origins: ReadonlyArray<string>
}): Layer.Layer<Telephony, PluginError> =>
  Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const pages = yield* Pages.load({ baseUrl: host.baseUrl, origins })
      const clock = yield* Effect.clock
      const now = (): number => monotonicMillis(clock)
      const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
      /** By the keys of the pages. */
      const calls = new Map<string, BrowserCall>()
      /** Refused calls by link, the oldest first. */
      const refused = new Map<string, Allowance>()
      const starts = new LinkStarts(now)

      const onRefused = (link: string): void => {
        const allowance = refused.get(link) ?? new Allowance({ ...refusals, now: now() })
        allowance.take(now())
        refused.delete(link)
        refused.set(link, allowance)
        const [oldest] = refused.keys()
        if (refused.size > maxRemembered && oldest !== undefined) refused.delete(oldest)
      }

      const begin = (socket: RouteSocket, link: string): void => {
        const call: BrowserCall = new BrowserCall(socket, {
          link,
          now,
          onDecided: starts.accepted(link).decide,
          onDone: () => calls.delete(call.key),
          onRefused: () => onRefused(link)
        })
        calls.set(call.key, call)
        Queue.unsafeOffer(incoming, call.incoming)
      }

      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => {
            for (const call of calls.values()) call.check()
            starts.check()
          }),
          Schedule.spaced(checkEvery)
        )
      )
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const call of calls.values()) call.shutDown()
        })
      )

      const admit = ({ params, query }: RouteRequest): Effect.Effect<RouteResponse | undefined> => {
        // Only a socket can tell the page that its call is over.
        const accepted: RouteResponse | undefined = undefined
        if (query.has("resume")) return Effect.succeed(accepted)
        const link = params.token ?? ""
        if (refused.get(link)?.isSpent(now()) === true) return Effect.succeed(pages.busy)
        return starts.reserve(link, host.linkState(link), host.callsLeft(link)).pipe(
          Effect.timeoutTo({ duration: longestWait, onSuccess: (state) => state, onTimeout: () => "unknown" as const }),
          Effect.map((state) => (state === undefined ? accepted : pages.ofClosed(state)))
        )
      }

      const routes: ReadonlyArray<Route> = [
        ...pages.files,
        {
          _tag: "Http",
          method: "GET",
          path: "/:token",
          handle: ({ params, path }) =>
            // With a slash at its end the address is another one.
            path.endsWith("/")
              ? Effect.succeed(pages.ofClosed("closed"))
              : Effect.map(host.linkState(params.token ?? ""), (state) =>
                  state === "open" ? pages.call : pages.ofClosed(state)
                )
        },
        {
          _tag: "WebSocket",
          path: "/:token/call",
          refuse: (request) => (isOwnPage(request, host.baseUrl) ? undefined : foreign),
          admit,
          accept: (socket, { params, query }) => {
            const link = params.token ?? ""
            const key = query.get("resume")
            if (key === null) return begin(socket, link)
            const call = calls.get(key)
            if (call?.link !== link || !call.resume(socket, count(query.get("received")))) {
              socket.close(closeCodes.gone, "the call is over")
            }
          }
        }
      ]
      return {
        id: "browser",
        capabilities: {
          formats: [format],
          dtmfIn: true,
          dtmfOut: true,
          transfer: "none",
          earlyMedia: false,
          playbackMarks: "exact"
        },
        incoming: Stream.fromQueue(incoming),
        health: Effect.succeed(healthy),
        routes
      }
    })
  )

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { Pool } from "undici"
import type { ApiLoadRequests, Burst, BurstFigures } from "./ApiRequests.ts"
import { Histogram } from "./Histogram.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** The clients: plain promises, because their CPU time is taken from the server. */
const send = ({ connections, key, ms, url }: Burst): Effect.Effect<BurstFigures> =>
  Effect.promise(() => {
    const { origin, pathname, search } = new URL(url)
    const pool = new Pool(origin, { connections, pipelining: 1 })
    const headers = { authorization: `Bearer ${key}` }
    const times = new Histogram()
    let requests = 0
    let failures = 0
    const begun = performance.now()
    const until = begun + ms
    const next = (): Promise<void> => {
      const at = performance.now()
      if (at >= until) return Promise.resolve()
      return pool
        .request({ path: `${pathname}${search}`, method: "GET", headers })
        .then(({ body, statusCode }) => {
          if (statusCode !== 200) failures++
          return body.arrayBuffer()
        })
        .then(
          () => {
            requests++
            times.add(performance.now() - at)
          },
          () => void failures++
        )
        .then(next)
    }
    return Promise.all(Array.from({ length: connections }, next))
      .then(() => performance.now() - begun)
      .then((taken) =>
        pool.close().then(() => ({
          requests,
          failures,
          ms: taken,
          p50: times.quantile(0.5),
          p95: times.quantile(0.95),
          p99: times.quantile(0.99)
        }))
      )
  })

NodeRuntime.runMain(serveRequests<ApiLoadRequests>({ send }))

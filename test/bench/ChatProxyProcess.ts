import { createServer } from "node:http"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Config, Effect } from "effect"
import { Pool } from "undici"
import type { UpstreamRequests } from "./ChatRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** The limit of the chat bench: hands each request on to `SVC_BENCH_URL` and the answer back, and does nothing else. */
const proxyTo = (upstream: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const pool = new Pool(upstream, { pipelining: 1 })
      const server = createServer((request, response) => {
        pool.stream(
          { path: "/", method: "POST", body: request },
          ({ headers, statusCode }) => {
            response.writeHead(statusCode, { "content-type": String(headers["content-type"]) })
            return response
          },
          (error) => {
            if (error !== null) response.destroy()
          }
        )
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

NodeRuntime.runMain(
  Config.string("SVC_BENCH_URL").pipe(
    Effect.flatMap(proxyTo),
    Effect.flatMap(({ url }) => serveRequests<UpstreamRequests>({ address: () => Effect.succeed({ url }) })),
    Effect.scoped
  )
)

import { createServer } from "node:http"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { heldToken, type UpstreamRequests } from "./ChatRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** Time to the first token, ms. */
const hold = 200

/** A model's server that knows one answer: a stream of one token, which it holds for a fixed time. */
const upstream = Effect.acquireRelease(
  Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer((request, response) => {
      const from = performance.now()
      request.resume()
      setTimeout(() => {
        const delta = { content: heldToken(performance.now() - from) }
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\ndata: [DONE]\n\n`)
      }, hold)
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
  Effect.scoped(
    Effect.flatMap(upstream, ({ url }) => serveRequests<UpstreamRequests>({ address: () => Effect.succeed({ url }) }))
  )
)

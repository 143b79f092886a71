import * as http from "node:http"
import { Effect, type Scope } from "effect"

/** A receiver on this machine, until the scope closes. */
export const serve = (
  handle: http.RequestListener
): Effect.Effect<{ readonly url: string; readonly server: http.Server }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly server: http.Server }>((resume) => {
      const server = http.createServer(handle).listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, url: `http://127.0.0.1:${port}/events?a=b` }))
      })
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

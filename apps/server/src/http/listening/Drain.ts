import type { Server, ServerResponse } from "node:http"
import { InFlightSet } from "@svc/providers/InFlightSet"
import { Duration, Effect } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"

/** How long in-flight requests may take to finish when the server stops. */
export const grace = Duration.seconds(10)

/** The shutdown of an HTTP server: in-flight requests finish, new ones are refused. */
export interface Drain {
  /** Counts a request as in flight until its response is done. False when the server is stopping: refuse it. */
  readonly admit: (exchange: Exchange) => boolean
  readonly isStopping: () => boolean
  /**
   * Stops accepting connections, closes the idle ones, and waits for in-flight requests; after the grace their
   * connections are cut.
   */
  readonly run: Effect.Effect<void>
}

export const make = (server: Server): Drain => {
  const inFlight = new InFlightSet<ServerResponse>()
  let stopping = false
  let onIdle = () => {}

  const idle = Effect.async<void>((resume) => {
    onIdle = () => resume(Effect.void)
    if (inFlight.size === 0) onIdle()
  })

  return {
    isStopping: () => stopping,
    admit: ({ response }) => {
      if (stopping) {
        response.shouldKeepAlive = false
        return false
      }
      const remove = inFlight.add(response)
      response.once("close", () => {
        remove()
        if (stopping && inFlight.size === 0) onIdle()
      })
      return true
    },
    run: Effect.suspend(() => {
      stopping = true
      for (const response of inFlight) response.shouldKeepAlive = false
      server.close()
      // Finalizers are uninterruptible, so without this the timeout could not end the wait.
      return Effect.timeoutOption(Effect.interruptible(idle), grace)
    }).pipe(Effect.zipRight(Effect.sync(() => server.closeAllConnections())))
  }
}

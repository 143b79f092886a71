import type { Server, ServerResponse } from "node:http"
import { Duration, Effect } from "effect"
import type { Exchange } from "../exchange/Exchange.ts"

/** How long requests that are under way may take to finish when the server stops. */
export const grace = Duration.seconds(10)

/** The orderly end of a server: what is under way finishes, nothing new begins. */
export interface Drain {
  /** Counts a request as under way until its response is done. False when the server is stopping: refuse it. */
  readonly admit: (exchange: Exchange) => boolean
  readonly isStopping: () => boolean
  /**
   * Stops accepting connections, closes the idle ones, and waits for the requests under way; after the grace their
   * connections are cut.
   */
  readonly run: Effect.Effect<void>
}

export const make = (server: Server): Drain => {
  const underWay = new Set<ServerResponse>()
  let stopping = false
  let onIdle = () => {}

  const idle = Effect.async<void>((resume) => {
    onIdle = () => resume(Effect.void)
    if (underWay.size === 0) onIdle()
  })

  return {
    isStopping: () => stopping,
    admit: ({ response }) => {
      if (stopping) {
        response.shouldKeepAlive = false
        return false
      }
      underWay.add(response)
      response.once("close", () => {
        underWay.delete(response)
        if (stopping && underWay.size === 0) onIdle()
      })
      return true
    },
    run: Effect.suspend(() => {
      stopping = true
      for (const response of underWay) response.shouldKeepAlive = false
      server.close()
      // Finalizers are uninterruptible, and then so would be the wait, for ever.
      return Effect.timeoutOption(Effect.interruptible(idle), grace)
    }).pipe(Effect.zipRight(Effect.sync(() => server.closeAllConnections())))
  }
}

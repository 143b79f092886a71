import { AuthRateLimited, InvalidApiKey } from "@svc/api/WorkspaceError"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { Keys } from "@svc/auth/Keys"
import { Clock, Effect } from "effect"
import { networkOf } from "../access/IpAddress.ts"
import type { Middleware } from "./Middleware.ts"

/**
 * Authenticates the request by `Authorization: Bearer`. A wrong key counts as a failed authentication of the address, a
 * missing one does not. After too many failures the address is refused before its key is read.
 */
export const authentication: Effect.Effect<Middleware, never, Keys | AuthFailures> = Effect.gen(function* () {
  const keys = yield* Keys
  const failures = yield* AuthFailures
  return (request, next) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { exchange } = request.incoming
      const network = networkOf(exchange.address)
      const retryAfter = failures.blockedFor(network, now)
      if (retryAfter !== undefined) return Effect.fail(new AuthRateLimited({ retryAfter }))
      const { authorization } = exchange.request.headers
      if (authorization === undefined || authorization === "") return Effect.fail(new InvalidApiKey())
      const key = /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? ""
      return keys.authenticateWorkspace(key).pipe(
        Effect.catchAll((): Effect.Effect<never, AuthRateLimited | InvalidApiKey> => {
          // Others may have failed while this key was looked up.
          const wait = failures.record(network, now)
          return Effect.fail(wait === undefined ? new InvalidApiKey() : new AuthRateLimited({ retryAfter: wait }))
        }),
        Effect.flatMap((principal) => next({ ...request, principal }))
      )
    })
})

import { RateLimited } from "@svc/api/WorkspaceError"
import { RateLimits } from "@svc/auth/RateLimits"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import { Clock, Effect } from "effect"
import { type Middleware, principalOf } from "./Middleware.ts"

/** Counts the request against the limits of its key and its organization; a refused one counts for neither. */
export const requestRate: Effect.Effect<Middleware, never, RateLimits | WorkspaceLimits> = Effect.gen(function* () {
  const rates = yield* RateLimits
  const { keyPerMinute, orgPerMinute } = yield* WorkspaceLimits
  return (request, next) =>
    Effect.flatMap(Effect.zip(principalOf(request), Clock.currentTimeMillis), ([{ key_id, org }, now]) => {
      const ofOrg = `workspace:${org.id}`
      const ofKey = `workspace-key:${key_id}`
      const first = rates.peek(ofOrg, orgPerMinute, now)
      const allowance = first.admitted ? rates.consume(ofKey, keyPerMinute, now) : first
      if (!allowance.admitted) return Effect.fail(new RateLimited({ retryAfter: allowance.resetIn }))
      rates.consume(ofOrg, orgPerMinute, now)
      return next(request)
    })
})

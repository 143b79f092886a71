import type { Tier } from "@svc/api/Principal"
import type { Allowance } from "@svc/auth/RateLimits"
import type { LimitsOfTier } from "@svc/auth/TierLimits"
import type { ResponseHeaders } from "../exchange/Responses.ts"

/** What an authenticated answer tells of its organization's limits (spec 8). Without a limit there is none to tell. */
export const limitHeaders = (
  tier: Tier,
  limits: LimitsOfTier,
  { limit, remaining, resetAt }: Allowance
): ResponseHeaders =>
  limit === null
    ? {
        "X-RateLimit-Reset": String(resetAt),
        "X-RateLimit-Tier": tier,
        "X-Concurrent-Call-Limit": String(limits.concurrentCalls)
      }
    : {
        "X-RateLimit-Limit": String(limit),
        "X-RateLimit-Remaining": String(remaining),
        "X-RateLimit-Reset": String(resetAt),
        "X-RateLimit-Tier": tier,
        "X-Concurrent-Call-Limit": String(limits.concurrentCalls)
      }

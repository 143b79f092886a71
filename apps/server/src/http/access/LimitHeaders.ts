import type { Tier } from "@svc/api/Principal"
import type { Allowance } from "@svc/auth/RateLimits"
import type { LimitsOfTier } from "@svc/auth/TierLimits"
import type { ResponseHeaders } from "../exchange/Responses.ts"

/** The headers of an authenticated response about the limits of its organization. Without a limit, there are fewer. */
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

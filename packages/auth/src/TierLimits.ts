import type { Tier } from "@svc/api/Principal"
import { Config, type ConfigError, Context, Effect, Layer } from "effect"
import { count, rate } from "./LimitConfig.ts"

/** The limits of the organizations of one tier. */
export interface LimitsOfTier {
  /** Requests to the voice API per organization and minute. Null: no limit, and no header. */
  readonly requestsPerMinute: number | null
  /** Concurrent calls; the value of `concurrent_call_limit` and `X-Concurrent-Call-Limit`, which every tier has. */
  readonly concurrentCalls: number
  /**
   * Whether a call above `concurrentCalls` is rejected. Enterprise's cap is only reported, unless it was configured.
   */
  readonly concurrentCallsEnforced: boolean
  /** Chat completions per organization and minute. Null: no limit. */
  readonly chatPerMinute: number | null
  /** Concurrent chat completions. */
  readonly chatConcurrent: number
}

type Defaults = Omit<LimitsOfTier, "concurrentCallsEnforced">

/** Used where no variable is set. */
const defaults: { readonly [T in Tier]: Defaults } = {
  payg: { requestsPerMinute: 300, concurrentCalls: 10, chatPerMinute: 60, chatConcurrent: 5 },
  starter: { requestsPerMinute: 600, concurrentCalls: 50, chatPerMinute: 120, chatConcurrent: 10 },
  growth: { requestsPerMinute: 1200, concurrentCalls: 100, chatPerMinute: 300, chatConcurrent: 20 },
  scale: { requestsPerMinute: 2400, concurrentCalls: 250, chatPerMinute: 600, chatConcurrent: 40 },
  enterprise: { requestsPerMinute: null, concurrentCalls: 1000, chatPerMinute: null, chatConcurrent: 100 }
}

const limitsOf = (tier: Tier): Config.Config<LimitsOfTier> => {
  const name = (limit: string) => `SVC_LIMIT_${limit}_${tier.toUpperCase()}`
  return Config.all({
    requests: rate(name("REQUESTS_PER_MINUTE")),
    calls: count(name("CONCURRENT_CALLS")),
    chat: rate(name("CHAT_PER_MINUTE")),
    chatConcurrent: count(name("CHAT_CONCURRENT"))
  }).pipe(
    Config.map(({ calls, chat, chatConcurrent, requests }) => ({
      requestsPerMinute: requests === undefined ? defaults[tier].requestsPerMinute : requests.value,
      concurrentCalls: calls ?? defaults[tier].concurrentCalls,
      concurrentCallsEnforced: tier !== "enterprise" || calls !== undefined,
      chatPerMinute: chat === undefined ? defaults[tier].chatPerMinute : chat.value,
      chatConcurrent: chatConcurrent ?? defaults[tier].chatConcurrent
    }))
  )
}

/**
 * The limits of each tier. Four variables per tier change them, where `<TIER>` is `PAYG`, `STARTER`, `GROWTH`, `SCALE`
 * or `ENTERPRISE`; an invalid one fails the layer with an error that names it.
 *
 * | variable | PAYG | STARTER | GROWTH | SCALE | ENTERPRISE |
 * |---|---|---|---|---|---|
 * | `SVC_LIMIT_REQUESTS_PER_MINUTE_<TIER>` | 300 | 600 | 1200 | 2400 | unlimited |
 * | `SVC_LIMIT_CONCURRENT_CALLS_<TIER>` | 10 | 50 | 100 | 250 | 1000, enforced only when set |
 * | `SVC_LIMIT_CHAT_PER_MINUTE_<TIER>` | 60 | 120 | 300 | 600 | unlimited |
 * | `SVC_LIMIT_CHAT_CONCURRENT_<TIER>` | 5 | 10 | 20 | 40 | 100 |
 */
export class TierLimits extends Context.Tag("@svc/auth/TierLimits")<
  TierLimits,
  { readonly of: (tier: Tier) => LimitsOfTier }
>() {
  static readonly layer: Layer.Layer<TierLimits, ConfigError.ConfigError> = Layer.effect(
    TierLimits,
    Effect.map(
      Config.all({
        payg: limitsOf("payg"),
        starter: limitsOf("starter"),
        growth: limitsOf("growth"),
        scale: limitsOf("scale"),
        enterprise: limitsOf("enterprise")
      }),
      (limits) => ({ of: (tier) => limits[tier] })
    )
  )
}

import { Config, type ConfigError, Context, Layer } from "effect"
import { count } from "./LimitConfig.ts"

/**
 * The limits of the workspace API. The last one applies to the tier PAYG alone:
 *
 * | variable | default |
 * |---|---|
 * | `SVC_LIMIT_WORKSPACE_KEY_PER_MINUTE` | 120 |
 * | `SVC_LIMIT_WORKSPACE_ORG_PER_MINUTE` | 600 |
 * | `SVC_LIMIT_IDEMPOTENCY_KEYS_PER_DAY` | 10000 |
 * | `SVC_LIMIT_BOOKING_CUSTOMERS_PAYG` | 500 |
 */
export class WorkspaceLimits extends Context.Tag("@svc/auth/WorkspaceLimits")<
  WorkspaceLimits,
  {
    /** Requests per key and minute. */
    readonly keyPerMinute: number
    /** Requests per organization and minute, over all its keys. */
    readonly orgPerMinute: number
    /** Distinct idempotency keys per key and UTC day. */
    readonly idempotencyKeysPerDay: number
    /** Booking customers, without deleted ones, of an organization of the tier PAYG. */
    readonly paygCustomers: number
  }
>() {
  static readonly layer: Layer.Layer<WorkspaceLimits, ConfigError.ConfigError> = Layer.effect(
    WorkspaceLimits,
    Config.map(
      Config.all({
        keyPerMinute: count("SVC_LIMIT_WORKSPACE_KEY_PER_MINUTE"),
        orgPerMinute: count("SVC_LIMIT_WORKSPACE_ORG_PER_MINUTE"),
        idempotencyKeysPerDay: count("SVC_LIMIT_IDEMPOTENCY_KEYS_PER_DAY"),
        paygCustomers: count("SVC_LIMIT_BOOKING_CUSTOMERS_PAYG")
      }),
      (set) => ({
        keyPerMinute: set.keyPerMinute ?? 120,
        orgPerMinute: set.orgPerMinute ?? 600,
        idempotencyKeysPerDay: set.idempotencyKeysPerDay ?? 10_000,
        paygCustomers: set.paygCustomers ?? 500
      })
    )
  )
}

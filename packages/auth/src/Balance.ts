import { type BigDecimal, Context, type Effect } from "effect"

/**
 * The credits of an organization in EUR, exact. At 0 or below it is paused, except on the tier enterprise. A port that
 * billing provides.
 */
export class Balance extends Context.Tag("@svc/auth/Balance")<
  Balance,
  { readonly of: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal> }
>() {}

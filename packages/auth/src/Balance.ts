import type { Tier } from "@svc/api/Principal"
import { BigDecimal, Context, type Effect } from "effect"

/** Whether an organization with these credits (EUR) is paused: at 0 or below, except on the tier enterprise. */
export const isPaused = (tier: Tier, credits: BigDecimal.BigDecimal): boolean =>
  tier !== "enterprise" && !BigDecimal.isPositive(credits)

/** The credits of an organization in EUR, exact. A port that billing provides. */
export class Balance extends Context.Tag("@svc/auth/Balance")<
  Balance,
  { readonly of: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal> }
>() {}

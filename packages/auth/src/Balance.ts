import { type BigDecimal, Context, type Effect } from "effect"

/**
 * What an organization has left in EUR, exact; 0 or below pauses it, but for enterprise (decisions §6.9). Who keeps the
 * money provides it.
 */
export class Balance extends Context.Tag("@svc/auth/Balance")<
  Balance,
  { readonly of: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal> }
>() {}

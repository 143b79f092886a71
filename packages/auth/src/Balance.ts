import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import { AccountsRepo } from "./AccountsRepo.ts"

/** What an organization has left in EUR, exact; 0 or below pauses it (decisions §6.9). */
export class Balance extends Context.Tag("@svc/auth/Balance")<
  Balance,
  {
    /** An organization that is not there has 0. */
    readonly of: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal>
  }
>() {
  /** The balance that stands in the organization's row. */
  static readonly layer: Layer.Layer<Balance, never, AccountsRepo> = Layer.effect(
    Balance,
    Effect.map(AccountsRepo, (repo) => ({
      of: (orgId) =>
        Effect.map(
          repo.findOrganization(String(orgId)),
          Option.match({ onNone: () => BigDecimal.fromBigInt(0n), onSome: (org) => org.balance_eur })
        )
    }))
  )
}

import type { Tier } from "@svc/api/Principal"
import { Context, Effect, Layer, Option } from "effect"
import { AccountsRepo } from "./AccountsRepo.ts"

/** The current tier of an organization, for code outside a request. */
export class Tiers extends Context.Tag("@svc/auth/Tiers")<
  Tiers,
  {
    /** An organization that does not exist is a defect. */
    readonly of: (orgId: number) => Effect.Effect<Tier>
  }
>() {
  static readonly layer: Layer.Layer<Tiers, never, AccountsRepo> = Layer.effect(
    Tiers,
    Effect.map(AccountsRepo, (repo) => ({
      of: (orgId) =>
        Effect.flatMap(
          repo.findOrganization(String(orgId)),
          Option.match({
            onNone: () => Effect.dieMessage(`there is no organization ${orgId}`),
            onSome: ({ tier }) => Effect.succeed(tier)
          })
        )
    }))
  )
}

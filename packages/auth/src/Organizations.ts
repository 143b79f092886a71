import { type OrganizationInfo, OrganizationNotFound } from "@svc/api/accounts/Organization"
import type { Tier } from "@svc/api/Principal"
import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import { AccountsRepo } from "./AccountsRepo.ts"
import { Balance } from "./Balance.ts"
import { Keys } from "./Keys.ts"
import type { Organization } from "./Organization.ts"
import { TierLimits } from "./TierLimits.ts"

/** Money on the wire: a number with at most 4 decimals (decisions §1.8). */
const toMoney = (amount: BigDecimal.BigDecimal): number =>
  BigDecimal.unsafeToNumber(BigDecimal.round(amount, { scale: 4 }))

/** The accounts themselves: what one is told about itself, and what the operator does with them. */
export class Organizations extends Context.Tag("@svc/auth/Organizations")<
  Organizations,
  {
    /** The answer to `GET /v1/org` (decisions §2.11). */
    readonly info: (orgId: number) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
    /** All of them, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Organization>>
    /** By public or numeric id. */
    readonly find: (id: string) => Effect.Effect<Organization, OrganizationNotFound>
    /** By public or numeric id. Holds at once on this node, within 2 s on others. */
    readonly setTier: (id: string, tier: Tier) => Effect.Effect<Organization, OrganizationNotFound>
  }
>() {
  static readonly layer: Layer.Layer<Organizations, never, AccountsRepo | Balance | Keys | TierLimits> = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const repo = yield* AccountsRepo
      const balance = yield* Balance
      const keys = yield* Keys
      const limits = yield* TierLimits

      const found = (row: Option.Option<Organization>): Effect.Effect<Organization, OrganizationNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new OrganizationNotFound())
      const find = (id: string) => Effect.flatMap(repo.findOrganization(id), found)

      return {
        info: Effect.fn("Organizations.info")(function* (orgId) {
          const org = yield* find(String(orgId))
          const left = yield* balance.of(org.id)
          return {
            id: org.id,
            public_id: org.public_id,
            name: org.name,
            tier: org.tier,
            balance_eur: toMoney(left),
            is_paused: org.tier !== "enterprise" && !BigDecimal.isPositive(left),
            concurrent_call_limit: limits.of(org.tier).concurrentCalls,
            created_at: org.created_at.toISOString(),
            updated_at: org.updated_at.toISOString()
          }
        }),
        list: repo.organizations,
        find,
        setTier: Effect.fn("Organizations.setTier")(function* (id, tier) {
          const org = yield* find(id)
          return yield* repo.setTier(org.id, tier).pipe(Effect.ensuring(keys.forget), Effect.flatMap(found))
        })
      }
    })
  )
}

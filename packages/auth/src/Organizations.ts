import { type OrganizationInfo, OrganizationNotFound } from "@svc/api/accounts/Organization"
import { toNumber } from "@svc/api/Money"
import type { Tier } from "@svc/api/Principal"
import { Context, Effect, Layer, Option } from "effect"
import { AccountsRepo } from "./AccountsRepo.ts"
import { Balance, isPaused } from "./Balance.ts"
import { Keys } from "./Keys.ts"
import type { Organization } from "./Organization.ts"
import { TierLimits } from "./TierLimits.ts"

/** Organizations: the answer to `GET /v1/org`, and the operator's commands. */
export class Organizations extends Context.Tag("@svc/auth/Organizations")<
  Organizations,
  {
    /** The answer to `GET /v1/org`. */
    readonly info: (orgId: number) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<OrganizationInfo>>
    /** By public or numeric id. */
    readonly find: (id: string) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
    /** By public or numeric id. Effective at once on this node, within 2 s on others. */
    readonly setTier: (id: string, tier: Tier) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
  }
>() {
  static readonly layer: Layer.Layer<Organizations, never, AccountsRepo | Balance | Keys | TierLimits> = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const repo = yield* AccountsRepo
      const balance = yield* Balance
      const keys = yield* Keys
      const limits = yield* TierLimits

      const orNotFound = (row: Option.Option<Organization>): Effect.Effect<Organization, OrganizationNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new OrganizationNotFound())

      const withBalance = (org: Organization): Effect.Effect<OrganizationInfo> =>
        Effect.map(balance.of(org.id), (credits) => ({
          id: org.id,
          public_id: org.public_id,
          name: org.name,
          tier: org.tier,
          balance_eur: toNumber(credits),
          is_paused: isPaused(org.tier, credits),
          concurrent_call_limit: limits.of(org.tier).concurrentCalls,
          created_at: org.created_at.toISOString(),
          updated_at: org.updated_at.toISOString()
        }))
      const find = (id: string) =>
        repo.findOrganization(id).pipe(Effect.flatMap(orNotFound), Effect.flatMap(withBalance))

      return {
        info: (orgId) => Effect.withSpan(find(String(orgId)), "Organizations.info"),
        list: Effect.flatMap(repo.organizations, (rows) => Effect.forEach(rows, withBalance)),
        find,
        setTier: Effect.fn("Organizations.setTier")(function* (id, tier) {
          const org = yield* Effect.flatMap(repo.findOrganization(id), orNotFound)
          const changed = yield* repo
            .setTier(org.id, tier)
            .pipe(Effect.ensuring(keys.clearCache), Effect.flatMap(orNotFound))
          return yield* withBalance(changed)
        })
      }
    })
  )
}

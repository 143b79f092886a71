import type { Statement } from "@effect/sql"
import type { ProjectCreate } from "@svc/api/accounts/Project"
import type { Tier } from "@svc/api/Principal"
import { ProjectNotFound } from "@svc/api/VoiceError"
import { type BigDecimal, Context, Effect, Layer, Option } from "effect"
import { AccountsRepo } from "./AccountsRepo.ts"
import type { Organization } from "./Organization.ts"
import type { Project } from "./Project.ts"

/** Organizations and their projects. */
export class Accounts extends Context.Tag("@svc/auth/Accounts")<
  Accounts,
  {
    readonly createOrganization: (options: {
      readonly name: string
      readonly tier: Tier
      readonly balance_eur: BigDecimal.BigDecimal
    }) => Effect.Effect<Organization>
    readonly createProject: (orgId: number, options: ProjectCreate) => Effect.Effect<Project>
    /** A project of this organization, not deleted, by public or numeric id. */
    readonly project: (orgId: number, id: string) => Effect.Effect<Project, ProjectNotFound>
    /** The countries that organizations may call in place of the server's, as they were set, by numeric id. */
    readonly outboundCountries: Effect.Effect<ReadonlyMap<number, string>>
    /** Whether they differ from these: an expression for DueCheck. */
    readonly outboundCountriesDiffer: (known: ReadonlyMap<number, string>) => Statement.Fragment
    /** Null: the server's. */
    readonly setOutboundCountries: (orgId: number, countries: string | null) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Accounts, never, AccountsRepo> = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const repo = yield* AccountsRepo
      return {
        createOrganization: repo.insertOrganization,
        createProject: (orgId, options) => repo.insertProject({ org_id: orgId, ...options }),
        project: Effect.fn("Accounts.project")(function* (orgId: number, id: string) {
          const found = yield* repo.findProject(orgId, id)
          if (Option.isNone(found)) return yield* new ProjectNotFound()
          return found.value
        }),
        outboundCountries: repo.outboundCountries,
        outboundCountriesDiffer: repo.outboundCountriesDiffer,
        setOutboundCountries: repo.setOutboundCountries
      }
    })
  )
}

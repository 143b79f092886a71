import { OrgId, ProjectId } from "@svc/api/Ids"
import { Tier } from "@svc/api/Principal"
import type { ProjectNotFound } from "@svc/api/VoiceError"
import { type BigDecimal, Context, type Effect, Schema } from "effect"

/** An account (spec 1). `id` is the database identity, `public_id` is `org_…`. */
export const Organization = Schema.Struct({
  id: Schema.Int,
  public_id: OrgId,
  name: Schema.String,
  tier: Tier,
  /** EUR, exact. */
  balance_eur: Schema.BigDecimal,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Organization = typeof Organization.Type

/** What separates environments or customers inside an organization (spec 2.2). `id` is spec's `internal_id`. */
export const Project = Schema.Struct({
  id: Schema.Int,
  public_id: ProjectId,
  org_id: Schema.Int,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Project = typeof Project.Type

/** Organizations and their projects. */
export class Accounts extends Context.Tag("@svc/auth/Accounts")<
  Accounts,
  {
    readonly createOrganization: (options: {
      readonly name: string
      readonly tier: Tier
      readonly balance_eur: BigDecimal.BigDecimal
    }) => Effect.Effect<Organization>
    readonly createProject: (
      orgId: number,
      options: { readonly name: string; readonly description: string | null }
    ) => Effect.Effect<Project>
    /** A project of the organization by public or numeric id. A foreign or deleted one is not found. */
    readonly project: (orgId: number, id: string) => Effect.Effect<Project, ProjectNotFound>
  }
>() {}

import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Context, Schema } from "effect"
import type { OrgId, ProjectId } from "./Ids.ts"
import { InvalidApiKey, MissingApiKey } from "./VoiceError.ts"

/** The billing tiers of an organization. */
export const Tier = Schema.Literal("payg", "starter", "growth", "scale", "enterprise")
export type Tier = typeof Tier.Type

/** The project of a request. */
export interface PrincipalProject {
  readonly id: number
  readonly public_id: ProjectId
}

/** Who makes a request: a project key, or an organization key (with a project when `X-Project-Id` was sent). */
export interface Principal {
  readonly kind: "project" | "org"
  readonly key_id: number
  readonly scope: "full" | "read"
  readonly org: { readonly id: number; readonly public_id: OrgId; readonly tier: Tier }
  readonly project: PrincipalProject | null
}

/** The principal of the current request; a request service. */
export class CurrentPrincipal extends Context.Tag("@svc/api/CurrentPrincipal")<CurrentPrincipal, Principal>() {}

/** A principal that has a project, for endpoints that work on a project's resources. */
export interface ProjectPrincipal extends Principal {
  readonly project: PrincipalProject
}

/** The project of the current request; present on every endpoint that is not `orgOnly` or `projectOptional`. */
export class CurrentProject extends Context.Tag("@svc/api/CurrentProject")<CurrentProject, PrincipalProject>() {}

/**
 * Voice API keys as `Authorization: Bearer <key>` or `X-Api-Key: <key>`. The one implementation is the
 * server's, which makes all checks in the order of docs/reference/access.md.
 */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("@svc/api/Authorization", {
  failure: Schema.Union(MissingApiKey.wire, InvalidApiKey.wire),
  provides: CurrentPrincipal,
  security: {
    bearer: HttpApiSecurity.bearer,
    apiKey: HttpApiSecurity.apiKey({ key: "X-Api-Key", in: "header" })
  }
}) {}

/** How an endpoint is reached; an annotation on endpoints and groups, read by the server's security layer. */
export interface Access {
  /**
   * `project` (default): needs a project. `optional`: an org key without `X-Project-Id` is fine. `org`: org keys only.
   */
  readonly needs: "project" | "optional" | "org"
  /** Writes that a paused account may still make. */
  readonly creditsExempt: boolean
  /** Whether a `read` key is refused although the endpoint only reads. */
  readonly needsFullKey: boolean
}
export class AccessRule extends Context.Tag("@svc/api/AccessRule")<AccessRule, Access>() {
  /** The rule of endpoints without an annotation. */
  static readonly standard: Access = { needs: "project", creditsExempt: false, needsFullKey: false }
  static readonly projectOptional: Access = { needs: "optional", creditsExempt: false, needsFullKey: false }
  static readonly projectOptionalCreditsExempt: Access = { needs: "optional", creditsExempt: true, needsFullKey: false }
  static readonly orgOnly: Access = { needs: "org", creditsExempt: false, needsFullKey: false }
  static readonly fullKeyOnly: Access = { needs: "project", creditsExempt: false, needsFullKey: true }
  static readonly creditsExempt: Access = { needs: "project", creditsExempt: true, needsFullKey: false }
  static readonly orgOnlyCreditsExempt: Access = { needs: "org", creditsExempt: true, needsFullKey: false }
}

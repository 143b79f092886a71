import type { SqlClient } from "@effect/sql"
import { WorkspaceScope } from "@svc/api/accounts/ApiKey"
import type { Tier } from "@svc/api/Principal"
import { type BigDecimal, type Context, Effect, type Redacted } from "effect"
import type { Accounts } from "./Accounts.ts"
import type { KeyKind } from "./KeyFormat.ts"
import type { Keys } from "./Keys.ts"
import type { Organization } from "./Organization.ts"
import type { Project } from "./Project.ts"

/** A new organization that can be used at once: it has a project, and a key of each kind that is not restricted. */
export interface NewAccount {
  readonly org: Organization
  readonly project: Project
  /** The raw keys, which cannot be read again. */
  readonly keys: { readonly [K in KeyKind]: Redacted.Redacted<string> }
}

interface Services {
  readonly accounts: Context.Tag.Service<typeof Accounts>
  readonly keys: Context.Tag.Service<typeof Keys>
  readonly sql: SqlClient.SqlClient
}

/** Creates an account, all of it or nothing. Keys that are not given are generated. */
export const newAccount =
  ({ accounts, keys, sql }: Services) =>
  (options: {
    readonly name: string
    readonly tier: Tier
    /** Opening balance in EUR. */
    readonly credits: BigDecimal.BigDecimal
    readonly keys?: { readonly [K in KeyKind]: Redacted.Redacted<string> }
  }): Effect.Effect<NewAccount> =>
    Effect.gen(function* () {
      const org = yield* accounts.createOrganization({
        name: options.name,
        tier: options.tier,
        balance_eur: options.credits
      })
      const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
      const owner = { org_id: org.id }
      const forOrg = yield* keys.issue({ kind: "org", ...owner }, { name: "Default", key: options.keys?.org })
      const forProject = yield* keys.issue(
        { kind: "project", ...owner, project_id: project.id, scope: "full" },
        { name: "Default", key: options.keys?.project }
      )
      const forWorkspace = yield* keys.issue(
        { kind: "workspace", ...owner, scopes: WorkspaceScope.literals },
        { name: "Default", key: options.keys?.workspace }
      )
      return { org, project, keys: { org: forOrg.key, project: forProject.key, workspace: forWorkspace.key } }
    }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))

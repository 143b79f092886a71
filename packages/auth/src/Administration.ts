import { SqlClient } from "@effect/sql"
import { ApiKeyNotFound, type KeyScope, type WorkspaceScope } from "@svc/api/accounts/ApiKey"
import type { OrganizationInfo, OrganizationNotFound } from "@svc/api/accounts/Organization"
import type { Tier } from "@svc/api/Principal"
import { type ProjectNotFound, ValidationError } from "@svc/api/VoiceError"
import { type BigDecimal, Context, Effect, Layer, Option, type Redacted } from "effect"
import { Accounts } from "./Accounts.ts"
import { KeyManagement, parseKeyId } from "./KeyManagement.ts"
import type { KeyHolder, KeyOwner } from "./KeyOwner.ts"
import type { KeyRecord } from "./KeyRecord.ts"
import { type IssuedKey, Keys } from "./Keys.ts"
import { KeysRepo } from "./KeysRepo.ts"
import { type NewAccount, newAccount } from "./NewAccount.ts"
import { Organizations } from "./Organizations.ts"
import type { Project } from "./Project.ts"
import { Projects } from "./Projects.ts"

/** The ids of a holder of keys, public or numeric. `project` is required for kind `project`, and invalid for others. */
export interface HolderIds {
  readonly kind: "org" | "project" | "workspace"
  readonly org: string
  readonly project?: string | undefined
}

/** A key to create. Project keys have a `scope` (default `full`), workspace keys `scopes`. */
export interface KeyRequest extends HolderIds {
  /** Default `Default`. */
  readonly name?: string | undefined
  readonly scope?: KeyScope | undefined
  readonly scopes?: ReadonlyArray<WorkspaceScope> | undefined
  readonly expires_at?: Date | undefined
}

/** An organization with what {@link NewAccount} says. */
export interface CreatedOrganization extends Pick<NewAccount, "project" | "keys"> {
  readonly organization: OrganizationInfo
}

/** The operator's commands for organizations and keys (docs/reference/administration.md). Ids are public or numeric. */
export class Administration extends Context.Tag("@svc/auth/Administration")<
  Administration,
  {
    /** Oldest first. */
    readonly organizations: Effect.Effect<ReadonlyArray<OrganizationInfo>>
    /** Creates an organization with a project and keys, which cannot be read again. */
    readonly createOrganization: (options: {
      readonly name: string
      readonly tier: Tier
      /** Opening balance in EUR. */
      readonly credits: BigDecimal.BigDecimal
    }) => Effect.Effect<CreatedOrganization, ValidationError>
    /** Newest first. */
    readonly projects: (org: string) => Effect.Effect<ReadonlyArray<Project>, OrganizationNotFound>
    /** Creates a project with a key of scope `full`, which cannot be read again. */
    readonly createProject: (
      org: string,
      name: string
    ) => Effect.Effect<
      { readonly project: Project; readonly key: Redacted.Redacted<string> },
      OrganizationNotFound | ValidationError
    >
    /** Effective on running servers within 2 s. */
    readonly setTier: (org: string, tier: Tier) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
    /** The countries that the organization may call in place of the server's, as they were set. */
    readonly outboundCountries: (
      org: string
    ) => Effect.Effect<
      { readonly organization: OrganizationInfo; readonly countries: string | undefined },
      OrganizationNotFound
    >
    /** Effective on running servers within 2 s. Null: the server's countries. */
    readonly setOutboundCountries: (
      org: string,
      countries: string | null
    ) => Effect.Effect<OrganizationInfo, OrganizationNotFound>
    /** All keys of a holder, newest first; for an organization without the revoked ones. */
    readonly keys: (
      holder: HolderIds
    ) => Effect.Effect<ReadonlyArray<KeyRecord>, OrganizationNotFound | ProjectNotFound | ValidationError>
    /** Returns the raw key, which cannot be read again. */
    readonly createKey: (
      request: KeyRequest
    ) => Effect.Effect<IssuedKey, OrganizationNotFound | ProjectNotFound | ValidationError>
    /**
     * By the key's numeric id, of any kind. Running servers refuse it within 2 s. Returns the key before the change.
     */
    readonly revokeKey: (id: string) => Effect.Effect<KeyRecord, ApiKeyNotFound>
  }
>() {
  static readonly layer: Layer.Layer<
    Administration,
    never,
    Accounts | Organizations | KeyManagement | Keys | KeysRepo | Projects | SqlClient.SqlClient
  > = Layer.effect(
    Administration,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const organizations = yield* Organizations
      const management = yield* KeyManagement
      const repo = yield* KeysRepo
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const create = newAccount({ accounts, keys: yield* Keys, sql })

      const holderOf = Effect.fnUntraced(function* (ids: HolderIds) {
        const { id: org_id } = yield* organizations.find(ids.org)
        if (ids.kind !== "project") {
          if (ids.project === undefined) return { kind: ids.kind, org_id } satisfies KeyHolder
          return yield* ValidationError.field("project", `project is not of ${ids.kind} keys`)
        }
        if (ids.project === undefined) {
          return yield* ValidationError.field(
            "project",
            `--project is required; svc project list --org ${ids.org} shows the projects`
          )
        }
        const project = yield* accounts.project(org_id, ids.project)
        return { kind: ids.kind, org_id, project_id: project.id } satisfies KeyHolder
      })

      const ownerOf = (holder: KeyHolder, request: KeyRequest): Effect.Effect<KeyOwner, ValidationError> => {
        if (holder.kind !== "project" && request.scope !== undefined) {
          return Effect.fail(ValidationError.field("scope", `scope is not of ${holder.kind} keys`))
        }
        if (holder.kind !== "workspace") {
          if (request.scopes !== undefined) {
            return Effect.fail(ValidationError.field("scopes", `scopes are not of ${holder.kind} keys`))
          }
          if (request.expires_at !== undefined) {
            return Effect.fail(ValidationError.field("expires_at", `${holder.kind} keys do not expire`))
          }
        }
        switch (holder.kind) {
          case "org":
            return Effect.succeed(holder)
          case "project":
            return Effect.succeed({ ...holder, scope: request.scope ?? "full" })
          case "workspace":
            return request.scopes === undefined || request.scopes.length === 0
              ? Effect.fail(ValidationError.field("scopes", "scopes is required."))
              : Effect.succeed({ ...holder, scopes: request.scopes, expires_at: request.expires_at ?? null })
        }
      }

      const checkName = (name: string): Effect.Effect<string, ValidationError> => {
        const trimmed = name.trim()
        if (trimmed === "") return Effect.fail(ValidationError.field("name", "name must not be empty"))
        if (trimmed.length > 200) {
          return Effect.fail(ValidationError.field("name", "name must not exceed 200 characters"))
        }
        return trimmed.includes("\u0000")
          ? Effect.fail(ValidationError.field("name", "name must not contain NUL characters"))
          : Effect.succeed(trimmed)
      }

      return {
        organizations: organizations.list,
        createOrganization: Effect.fn("Administration.createOrganization")(function* ({ credits, name, tier }) {
          const { keys, org, project } = yield* create({ name: yield* checkName(name), tier, credits })
          // It was created above.
          const organization = yield* Effect.orDie(organizations.info(org.id))
          return { organization, project, keys }
        }),
        projects: Effect.fn("Administration.projects")(function* (org) {
          const { id } = yield* organizations.find(org)
          return yield* projects.list(id, { limit: 10_000, offset: 0 })
        }),
        createProject: Effect.fn("Administration.createProject")(
          function* (org, name) {
            const { id: org_id } = yield* organizations.find(org)
            const project = yield* projects.create(org_id, { name: yield* checkName(name), description: null })
            const owner = { kind: "project", org_id, project_id: project.id, scope: "full" } as const
            const { key } = yield* management.create(owner, "Default")
            return { project, key }
          },
          sql.withTransaction,
          Effect.catchTag("SqlError", Effect.die)
        ),
        setTier: organizations.setTier,
        outboundCountries: Effect.fn("Administration.outboundCountries")(function* (org) {
          const organization = yield* organizations.find(org)
          return { organization, countries: (yield* accounts.outboundCountries).get(organization.id) }
        }),
        setOutboundCountries: Effect.fn("Administration.setOutboundCountries")(function* (org, countries) {
          const { id } = yield* organizations.find(org)
          yield* accounts.setOutboundCountries(id, countries)
          return yield* organizations.find(String(id))
        }),
        keys: Effect.fn("Administration.keys")(function* (ids) {
          const holder = yield* holderOf(ids)
          return yield* management.list(holder, { limit: 10_000, offset: 0 })
        }),
        createKey: Effect.fn("Administration.createKey")(function* (request) {
          const name = yield* checkName(request.name ?? "Default")
          const owner = yield* ownerOf(yield* holderOf(request), request)
          return yield* management.create(owner, name)
        }),
        revokeKey: Effect.fn("Administration.revokeKey")(function* (id) {
          const keyId = parseKeyId(id)
          const key = keyId === undefined ? Option.none<KeyRecord>() : yield* repo.find(keyId)
          if (Option.isNone(key)) return yield* new ApiKeyNotFound()
          const { kind, org_id, project_id } = key.value
          const holder: KeyHolder =
            kind !== "project" ? { kind, org_id } : { kind, org_id, project_id: project_id ?? 0 }
          yield* management.revoke(holder, id)
          return key.value
        })
      }
    })
  )
}

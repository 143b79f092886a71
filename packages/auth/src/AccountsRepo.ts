import { createHash } from "node:crypto"
import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { newOrgId, newProjectId, OrgId, ProjectId, parseId } from "@svc/api/Ids"
import type { Tier } from "@svc/api/Principal"
import { BigDecimal, Context, Effect, Layer, Option, Schema } from "effect"
import { Organization } from "./Organization.ts"
import { NewProject, Project, ProjectChange } from "./Project.ts"

const parseProjectId = parseId(ProjectId)
const parseOrgId = parseId(OrgId)

/** Tables `organizations` and `projects`. */
export class AccountsRepo extends Context.Tag("@svc/auth/AccountsRepo")<
  AccountsRepo,
  {
    /**
     * Takes a lock until the caller's transaction ends, so that checks do not overlap, then returns whether there is no
     * organization.
     */
    readonly lockAndCheckEmpty: Effect.Effect<boolean>
    readonly insertOrganization: (
      row: Pick<Organization, "name" | "tier" | "balance_eur">
    ) => Effect.Effect<Organization>
    readonly insertProject: (row: NewProject) => Effect.Effect<Project>
    /** A project that is not deleted, by public or numeric id. */
    readonly findProject: (orgId: number, id: string) => Effect.Effect<Option.Option<Project>>
    /** Oldest first. */
    readonly organizations: Effect.Effect<ReadonlyArray<Organization>>
    /** The ids of the organizations of a tier. */
    readonly idsOfTier: (tier: Tier) => Effect.Effect<ReadonlyArray<number>>
    /** By public or numeric id. */
    readonly findOrganization: (id: string) => Effect.Effect<Option.Option<Organization>>
    readonly setTier: (id: number, tier: Tier) => Effect.Effect<Option.Option<Organization>>
    /** The countries that organizations may call in place of the server's, as they were set, by numeric id. */
    readonly outboundCountries: Effect.Effect<ReadonlyMap<number, string>>
    /** Whether they differ from these: an expression for DueCheck. */
    readonly outboundCountriesDiffer: (known: ReadonlyMap<number, string>) => Statement.Fragment
    /** Null: the server's. */
    readonly setOutboundCountries: (id: number, countries: string | null) => Effect.Effect<void>
    /** Projects that are not deleted, newest first. */
    readonly projects: (
      orgId: number,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<Project>>
    /** Changes the given fields of a project that is not deleted. */
    readonly updateProject: (id: number, change: ProjectChange) => Effect.Effect<Option.Option<Project>>
    /** None when it is already deleted. Waits for a concurrent deletion. */
    readonly deleteProject: (id: number) => Effect.Effect<Option.Option<Project>>
    /** Which of these projects are deleted. */
    readonly deletedProjects: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>>
  }
>() {
  static readonly layer: Layer.Layer<AccountsRepo, never, SqlClient.SqlClient> = Layer.effect(
    AccountsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = sql.literal("id, public_id, name, tier, balance_eur, created_at, updated_at")
      const project = sql.literal(Object.keys(Project.fields).join(", "))

      const insertOrganization = SqlSchema.single({
        Request: Schema.Struct({
          public_id: Schema.String,
          name: Schema.String,
          tier: Schema.String,
          balance_eur: Schema.String
        }),
        Result: Organization,
        execute: (row) => sql`insert into organizations ${sql.insert(row)} returning ${organization}`
      })
      const insertProject = SqlSchema.single({
        Request: NewProject,
        Result: Project,
        execute: (row) => sql`insert into projects ${sql.insert(row)} returning ${project}`
      })
      const findProject = SqlSchema.findOne({
        Request: Schema.Struct({ org_id: Schema.Number, id: Schema.Number, public_id: Schema.String }),
        Result: Project,
        execute: ({ id, org_id, public_id }) => sql`
          select ${project} from projects
          where org_id = ${org_id} and deleted_at is null
            and ${public_id === "" ? sql`id = ${id}` : sql`public_id = ${public_id}`}`
      })
      const findOrganization = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, public_id: Schema.String }),
        Result: Organization,
        execute: ({ id, public_id }) => sql`
          select ${organization} from organizations
          where ${public_id === "" ? sql`id = ${id}` : sql`public_id = ${public_id}`}`
      })
      const setTier = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, tier: Schema.String }),
        Result: Organization,
        execute: ({ id, tier }) => sql`
          update organizations set tier = ${tier}, updated_at = now() where id = ${id} returning ${organization}`
      })
      const projects = SqlSchema.findAll({
        Request: Schema.Struct({ org_id: Schema.Number, limit: Schema.Number, offset: Schema.Number }),
        Result: Project,
        execute: ({ limit, offset, org_id }) => sql`
          select ${project} from projects where org_id = ${org_id} and deleted_at is null
          order by id desc limit ${limit} offset ${offset}`
      })
      const updateProject = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, change: ProjectChange }),
        Result: Project,
        execute: ({ change, id }) => sql`
          update projects set ${sql.csv([
            sql`updated_at = now()`,
            ...Object.entries(change).flatMap(([column, value]) =>
              value === undefined ? [] : [sql`${sql(column)} = ${value}`]
            )
          ])}
          where id = ${id} and deleted_at is null returning ${project}`
      })
      const deleteProject = SqlSchema.findOne({
        Request: Schema.Number,
        Result: Project,
        execute: (id) => sql`
          update projects set deleted_at = now(), updated_at = now()
          where id = ${id} and deleted_at is null returning ${project}`
      })
      /** Parameters that find a row by either id: the one that is not used is 0 or empty. */
      const idParameters = <A extends string>(parsed: { readonly numeric: number } | { readonly public: A }) => ({
        id: "numeric" in parsed ? parsed.numeric : 0,
        public_id: "public" in parsed ? parsed.public : ""
      })

      return {
        // Two statements: the second one's snapshot must be taken after the lock is held. The lock ends with the
        // transaction; its number only has to differ from our other locks.
        lockAndCheckEmpty: sql`select pg_advisory_xact_lock(7283001)`.pipe(
          Effect.zipRight(sql`select 1 from organizations limit 1`),
          Effect.map((rows) => rows.length === 0),
          Effect.orDie
        ),
        insertOrganization: Effect.fn("AccountsRepo.insertOrganization")(function* (row) {
          const public_id: OrgId = yield* newOrgId
          return yield* insertOrganization({ ...row, public_id, balance_eur: BigDecimal.format(row.balance_eur) })
        }, Effect.orDie),
        insertProject: Effect.fn("AccountsRepo.insertProject")(function* (row) {
          const public_id = yield* newProjectId
          return yield* insertProject({ ...row, public_id })
        }, Effect.orDie),
        findProject: Effect.fn("AccountsRepo.findProject")(function* (orgId: number, id: string) {
          const parsed = parseProjectId(id)
          if (parsed === undefined) return Option.none()
          return yield* findProject({ org_id: orgId, ...idParameters(parsed) })
        }, Effect.orDie),
        organizations: sql`select ${organization} from organizations order by id`.pipe(
          Effect.flatMap(Schema.decodeUnknown(Schema.Array(Organization))),
          Effect.orDie
        ),
        idsOfTier: (tier) =>
          sql<{ readonly id: number }>`select id from organizations where tier = ${tier}`.pipe(
            Effect.map((rows) => rows.map(({ id }) => id)),
            Effect.orDie
          ),
        findOrganization: (id) => {
          const parsed = parseOrgId(id)
          return parsed === undefined ? Effect.succeedNone : Effect.orDie(findOrganization(idParameters(parsed)))
        },
        setTier: (id, tier) => Effect.orDie(setTier({ id, tier })),
        outboundCountries: sql<{ readonly id: number; readonly outbound_countries: string }>`
          select id, outbound_countries from organizations where outbound_countries is not null`.pipe(
          Effect.map((rows) => new Map(rows.map(({ id, outbound_countries }) => [id, outbound_countries]))),
          Effect.orDie
        ),
        outboundCountriesDiffer: (known) => {
          const lines = [...known].sort(([a], [b]) => a - b).map(([id, countries]) => `${id}:${countries}`)
          const hash = createHash("sha256").update(lines.join("\n")).digest("hex")
          return sql`(
            select encode(sha256(convert_to(
              coalesce(string_agg(id || ':' || outbound_countries, chr(10) order by id), ''), 'UTF8'
            )), 'hex') from organizations where outbound_countries is not null
          ) <> ${hash}`
        },
        setOutboundCountries: (id, countries) =>
          Effect.orDie(sql`
            update organizations set outbound_countries = ${countries}, updated_at = now() where id = ${id}`),
        projects: (org_id, page) => Effect.orDie(projects({ org_id, ...page })),
        updateProject: (id, change) => Effect.orDie(updateProject({ id, change })),
        deleteProject: (id) => Effect.orDie(deleteProject(id)),
        deletedProjects: (ids) =>
          sql<{ readonly id: number }>`
            select id from projects where id = any(${ids}::bigint[]) and deleted_at is not null`.pipe(
            Effect.map((rows) => rows.map(({ id }) => id)),
            Effect.orDie
          )
      }
    })
  )
}

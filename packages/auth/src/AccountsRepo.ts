import { SqlClient, SqlSchema } from "@effect/sql"
import { newOrgId, newProjectId, type OrgId, ProjectId, parseId } from "@svc/api/Ids"
import { BigDecimal, Context, Effect, Layer, Option, Schema } from "effect"
import { Organization } from "./Organization.ts"
import { Project } from "./Project.ts"

const parseProjectId = parseId(ProjectId)

/** Tables `organizations` and `projects`. */
export class AccountsRepo extends Context.Tag("@svc/auth/AccountsRepo")<
  AccountsRepo,
  {
    /** Inside a transaction: waits for others that do the same, then tells whether there is no organization yet. */
    readonly claimEmpty: Effect.Effect<boolean>
    readonly insertOrganization: (
      row: Pick<Organization, "name" | "tier" | "balance_eur">
    ) => Effect.Effect<Organization>
    readonly insertProject: (row: Pick<Project, "org_id" | "name" | "description">) => Effect.Effect<Project>
    /** A project that is not deleted, by public or numeric id. */
    readonly findProject: (orgId: number, id: string) => Effect.Effect<Option.Option<Project>>
  }
>() {
  static readonly layer: Layer.Layer<AccountsRepo, never, SqlClient.SqlClient> = Layer.effect(
    AccountsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = sql.literal("id, public_id, name, tier, balance_eur, created_at, updated_at")
      const project = sql.literal("id, public_id, org_id, name, description, created_at, updated_at")

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
        Request: Schema.Struct({
          public_id: Schema.String,
          org_id: Schema.Number,
          name: Schema.String,
          description: Schema.NullOr(Schema.String)
        }),
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

      return {
        // Two statements: the second one's snapshot must be taken after the lock is held. The lock ends with the
        // transaction; its number only has to differ from other locks of ours.
        claimEmpty: sql`select pg_advisory_xact_lock(7283001)`.pipe(
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
          return yield* findProject({
            org_id: orgId,
            id: "numeric" in parsed ? parsed.numeric : 0,
            public_id: "public" in parsed ? parsed.public : ""
          })
        }, Effect.orDie)
      }
    })
  )
}

import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { type NewWebhook, WebhookChange, WebhookRow } from "./WebhookRow.ts"
import { SealedWebhook, webhookSecrets } from "./WebhookSecretsRepo.ts"

/** All webhooks of the organization, or with a project those that are limited to it. */
export const WebhookOwner = Schema.Struct({ org_id: Schema.Int, project_id: Schema.NullOr(Schema.Int) })
export type WebhookOwner = typeof WebhookOwner.Type

/**
 * Deletes webhooks with their pending deliveries and dead letters. A delivery that a node has claimed ends with its
 * attempt.
 */
export const deleteWebhooks = (sql: SqlClient.SqlClient, which: Statement.Fragment): Effect.Effect<number> =>
  sql`
    with deleted as (delete from webhooks where ${which} returning id),
    pending as (
      delete from webhook_deliveries where webhook_id in (select id from deleted) and leased_by is null
    ),
    dead as (delete from webhook_dead_letters where webhook_id in (select id from deleted))
    select id from deleted`.pipe(
    Effect.map((rows) => rows.length),
    Effect.orDie
  )

/** Table `webhooks`: the rows of `/v1/webhooks` and those that projects manage. */
export class WebhooksRepo extends Context.Tag("@svc/webhooks/WebhooksRepo")<
  WebhooksRepo,
  {
    readonly insert: (row: NewWebhook) => Effect.Effect<WebhookRow>
    /** Newest first, at most 100. */
    readonly list: (owner: WebhookOwner) => Effect.Effect<ReadonlyArray<WebhookRow>>
    readonly find: (owner: WebhookOwner, id: number) => Effect.Effect<Option.Option<WebhookRow>>
    /** `is_active: true` also resets `consecutive_failures` and `disabled_reason`. */
    readonly change: (
      owner: WebhookOwner,
      id: number,
      change: WebhookChange
    ) => Effect.Effect<Option.Option<WebhookRow>>
    readonly setSecret: (owner: WebhookOwner, id: number, secret: string) => Effect.Effect<Option.Option<WebhookRow>>
    /** Deletes the webhook with its pending deliveries and dead letters. False when it did not exist. */
    readonly delete: (owner: WebhookOwner, id: number) => Effect.Effect<boolean>
    /** Deletes the webhooks that belong or are limited to a project in the same way, without those that agents manage. */
    readonly deleteAllOfProject: (projectId: number) => Effect.Effect<void>
    readonly findOfProject: (projectId: number) => Effect.Effect<Option.Option<WebhookRow>>
    /** Inserts the project's row, or sets its url and events and enables it. An existing row keeps its secret. */
    readonly putOfProject: (row: NewWebhook) => Effect.Effect<WebhookRow>
  }
>() {
  static readonly layer: Layer.Layer<WebhooksRepo, never, SqlClient.SqlClient> = Layer.effect(
    WebhooksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(WebhookRow.fields).join(", "))
      const secrets = yield* webhookSecrets
      const openFound = (found: Effect.Effect<Option.Option<WebhookRow>>) =>
        Effect.flatMap(found, (row) => Effect.transposeMapOption(row, secrets.open))
      const ofOwner = ({ org_id, project_id }: WebhookOwner) =>
        project_id === null ? sql`org_id = ${org_id}` : sql`org_id = ${org_id} and project_id = ${project_id}`

      const insert = SqlSchema.single({
        Request: SealedWebhook,
        Result: WebhookRow,
        execute: (row) => sql`insert into webhooks ${sql.insert(row)} returning ${columns}`
      })
      const list = SqlSchema.findAll({
        Request: Schema.Any,
        Result: WebhookRow,
        execute: (owner: WebhookOwner) => sql`
          select ${columns} from webhooks where ${ofOwner(owner)} order by id desc limit 100`
      })
      const find = SqlSchema.findOne({
        Request: Schema.Any,
        Result: WebhookRow,
        execute: ({ id, owner }: { readonly owner: WebhookOwner; readonly id: number }) => sql`
          select ${columns} from webhooks where ${ofOwner(owner)} and id = ${id}`
      })
      /**
       * The failures that a change leaves. Those of before belong to the former owner: a project to which the webhook is
       * limited now does not see them.
       */
      const failuresAfter = ({ is_active, project_id }: Pick<WebhookChange, "is_active" | "project_id">) => {
        const isMoved = sql`project_id is distinct from ${project_id ?? null}::bigint`
        const unlessMoved = (column: string, none: string) =>
          sql`${sql(column)} = case when ${isMoved} then ${sql.literal(none)} else ${sql(column)} end`
        if (project_id !== undefined && project_id !== null) {
          return [
            unlessMoved("failure_count", "0"),
            unlessMoved("last_failure_at", "null"),
            is_active === true ? sql`consecutive_failures = 0` : unlessMoved("consecutive_failures", "0")
          ]
        }
        return is_active === true ? [sql`consecutive_failures = 0`] : []
      }
      const change = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, owner: WebhookOwner, change: WebhookChange }),
        Result: WebhookRow,
        execute: ({ change, id, owner }) => sql`
          update webhooks set ${sql.csv([
            sql`updated_at = now()`,
            ...Object.entries(change).flatMap(([column, value]) =>
              value === undefined ? [] : [sql`${sql(column)} = ${value}`]
            ),
            ...(change.is_active === true ? [sql`disabled_reason = null`] : []),
            ...failuresAfter(change)
          ])}
          where ${ofOwner(owner)} and id = ${id} returning ${columns}`
      })
      const setSecret = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, owner: WebhookOwner, secret: Schema.String }),
        Result: WebhookRow,
        execute: ({ id, owner, secret }) => sql`
          update webhooks set secret = ${secret}, updated_at = now()
          where ${ofOwner(owner)} and id = ${id} returning ${columns}`
      })
      const findOfProject = SqlSchema.findOne({
        Request: Schema.Number,
        Result: WebhookRow,
        execute: (id) => sql`select ${columns} from webhooks where project_id = ${id} and is_project_managed`
      })
      const putOfProject = SqlSchema.single({
        Request: SealedWebhook,
        Result: WebhookRow,
        execute: (row) => sql`
          insert into webhooks ${sql.insert(row)}
          on conflict (project_id) where is_project_managed do update set
            url = excluded.url, events = excluded.events, is_active = true, consecutive_failures = 0,
            disabled_reason = null, updated_at = now()
          returning ${columns}`
      })

      return {
        insert: (row) => secrets.sealNew(row).pipe(Effect.flatMap(insert), Effect.orDie, Effect.flatMap(secrets.open)),
        list: (owner) => Effect.flatMap(Effect.orDie(list(owner)), Effect.forEach(secrets.open)),
        find: (owner, id) => openFound(Effect.orDie(find({ owner, id }))),
        change: (owner, id, to) => openFound(Effect.orDie(change({ id, owner, change: to }))),
        setSecret: (owner, id, secret) =>
          openFound(Effect.orDie(setSecret({ id, owner, secret: secrets.seal(id, secret) }))),
        delete: (owner, id) =>
          Effect.map(deleteWebhooks(sql, sql`${ofOwner(owner)} and id = ${id}`), (deleted) => deleted > 0),
        deleteAllOfProject: (projectId) =>
          Effect.asVoid(deleteWebhooks(sql, sql`project_id = ${projectId} and not is_agent_managed`)),
        findOfProject: (projectId) => openFound(Effect.orDie(findOfProject(projectId))),
        putOfProject: (row) =>
          secrets.sealNew(row).pipe(Effect.flatMap(putOfProject), Effect.orDie, Effect.flatMap(secrets.open))
      }
    })
  )
}

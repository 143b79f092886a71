import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { NewWebhook, WebhookChange, WebhookRow } from "./WebhookRow.ts"

/** All webhooks of the organization, or with a project those that are limited to it. */
export interface WebhookOwner {
  readonly org_id: number
  readonly project_id: number | null
}

/** Table `webhooks`: the rows of `/v1/webhooks` and those that projects manage. */
export class WebhooksRepo extends Context.Tag("@svc/webhooks/WebhooksRepo")<
  WebhooksRepo,
  {
    readonly insert: (row: NewWebhook) => Effect.Effect<WebhookRow>
    /** Newest first, at most 100. */
    readonly list: (owner: WebhookOwner) => Effect.Effect<ReadonlyArray<WebhookRow>>
    readonly find: (owner: WebhookOwner, id: number) => Effect.Effect<Option.Option<WebhookRow>>
    /** `is_active: true` also resets `consecutive_failures` and `disabled_reason`. */
    readonly change: (id: number, change: WebhookChange) => Effect.Effect<Option.Option<WebhookRow>>
    readonly setSecret: (id: number, secret: string) => Effect.Effect<Option.Option<WebhookRow>>
    /** Deletes the webhook with its pending deliveries and dead letters. False when it did not exist. */
    readonly delete: (id: number) => Effect.Effect<boolean>
    /** Webhooks that belong or are limited to a project, without those that agents manage. */
    readonly idsOfProject: (projectId: number) => Effect.Effect<ReadonlyArray<number>>
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
      const ofOwner = ({ org_id, project_id }: WebhookOwner) =>
        project_id === null ? sql`org_id = ${org_id}` : sql`org_id = ${org_id} and project_id = ${project_id}`

      const insert = SqlSchema.single({
        Request: NewWebhook,
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
      const change = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, change: WebhookChange }),
        Result: WebhookRow,
        execute: ({ change, id }) => sql`
          update webhooks set ${sql.csv([
            sql`updated_at = now()`,
            ...Object.entries(change).flatMap(([column, value]) =>
              value === undefined ? [] : [sql`${sql(column)} = ${value}`]
            ),
            ...(change.is_active === true ? [sql`consecutive_failures = 0, disabled_reason = null`] : [])
          ])}
          where id = ${id} returning ${columns}`
      })
      const setSecret = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, secret: Schema.String }),
        Result: WebhookRow,
        execute: ({ id, secret }) => sql`
          update webhooks set secret = ${secret}, updated_at = now() where id = ${id} returning ${columns}`
      })
      const findOfProject = SqlSchema.findOne({
        Request: Schema.Number,
        Result: WebhookRow,
        execute: (id) => sql`select ${columns} from webhooks where project_id = ${id} and is_project_managed`
      })
      const putOfProject = SqlSchema.single({
        Request: NewWebhook,
        Result: WebhookRow,
        execute: (row) => sql`
          insert into webhooks ${sql.insert(row)}
          on conflict (project_id) where is_project_managed do update set
            url = excluded.url, events = excluded.events, is_active = true, consecutive_failures = 0,
            disabled_reason = null, updated_at = now()
          returning ${columns}`
      })

      return {
        insert: (row) => Effect.orDie(insert(row)),
        list: (owner) => Effect.orDie(list(owner)),
        find: (owner, id) => Effect.orDie(find({ owner, id })),
        change: (id, to) => Effect.orDie(change({ id, change: to })),
        setSecret: (id, secret) => Effect.orDie(setSecret({ id, secret })),
        delete: (id) =>
          sql`
            with deleted as (delete from webhooks where id = ${id} returning id),
            pending as (delete from webhook_deliveries where webhook_id = ${id} and leased_by is null),
            dead as (delete from webhook_dead_letters where webhook_id = ${id})
            select id from deleted`.pipe(
            Effect.map((rows) => rows.length > 0),
            Effect.orDie
          ),
        idsOfProject: (projectId) =>
          sql<{ readonly id: number }>`
            select id from webhooks where project_id = ${projectId} and not is_agent_managed order by id`.pipe(
            Effect.map((rows) => rows.map(({ id }) => id)),
            Effect.orDie
          ),
        findOfProject: (projectId) => Effect.orDie(findOfProject(projectId)),
        putOfProject: (row) => Effect.orDie(putOfProject(row))
      }
    })
  )
}

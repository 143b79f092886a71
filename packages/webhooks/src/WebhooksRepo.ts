import { SqlClient, SqlSchema } from "@effect/sql"
import { apiVersion } from "@svc/api/events/Event"
import type { AgentId } from "@svc/api/Ids"
import type { WebhookFilters } from "@svc/api/webhooks/Webhook"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { WebhookRow } from "./WebhookRow.ts"

/** All webhooks of the organization, or with a project those that are limited to it. */
export interface WebhookOwner {
  readonly org_id: number
  readonly project_id: number | null
}

/** The filters of a webhook, with the public id of the agent that they name. */
export interface ResolvedFilters {
  readonly filters: WebhookFilters
  readonly agent_public_id: AgentId | null
}

/** A webhook to insert. */
export interface NewWebhook extends ResolvedFilters {
  readonly org_id: number
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly secret: string
}

/** The fields of a webhook to change; absent ones stay. */
export interface WebhookChange {
  readonly url?: string | undefined
  readonly events?: ReadonlyArray<string> | undefined
  readonly resolved?: ResolvedFilters | undefined
  readonly is_active?: boolean | undefined
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
    /** Inserts the project's row, or sets its url and events and enables it. */
    readonly putOfProject: (row: {
      readonly org_id: number
      readonly project_id: number
      readonly url: string
      readonly events: ReadonlyArray<string>
      /** For a new row; an existing row keeps its own. */
      readonly secret: string
    }) => Effect.Effect<WebhookRow>
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
        Request: Schema.Any,
        Result: WebhookRow,
        execute: ({ agent_public_id, events, filters, org_id, secret, url }: NewWebhook) => sql`
          insert into webhooks (org_id, project_id, agent_id, agent_public_id, url, events, filters, secret, api_version)
          values (
            ${org_id}, ${filters.project_id ?? null}, ${filters.agent_id ?? null}, ${agent_public_id}, ${url},
            ${events}::text[], ${jsonbText(filters)}::jsonb, ${secret}, ${apiVersion}
          ) returning ${columns}`
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
        Request: Schema.Any,
        Result: WebhookRow,
        execute: ({ change, id }: { readonly id: number; readonly change: WebhookChange }) => {
          const { events, is_active, resolved, url } = change
          const sets = [
            sql`updated_at = now()`,
            ...(url === undefined ? [] : [sql`url = ${url}`]),
            ...(events === undefined ? [] : [sql`events = ${events}::text[]`]),
            ...(resolved === undefined
              ? []
              : [
                  sql`filters = ${jsonbText(resolved.filters)}::jsonb`,
                  sql`project_id = ${resolved.filters.project_id ?? null}`,
                  sql`agent_id = ${resolved.filters.agent_id ?? null}`,
                  sql`agent_public_id = ${resolved.agent_public_id}`
                ]),
            ...(is_active === undefined ? [] : [sql`is_active = ${is_active}`]),
            ...(is_active === true ? [sql`consecutive_failures = 0, disabled_reason = null`] : [])
          ]
          return sql`update webhooks set ${sql.csv(sets)} where id = ${id} returning ${columns}`
        }
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
        Request: Schema.Any,
        Result: WebhookRow,
        execute: (row: Parameters<Context.Tag.Service<WebhooksRepo>["putOfProject"]>[0]) => sql`
          insert into webhooks (org_id, project_id, url, events, filters, secret, is_project_managed, api_version)
          values (
            ${row.org_id}, ${row.project_id}, ${row.url}, ${row.events}::text[],
            ${jsonbText({ project_id: row.project_id })}::jsonb, ${row.secret}, true, ${apiVersion}
          )
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

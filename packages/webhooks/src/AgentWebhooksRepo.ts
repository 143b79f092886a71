import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { type NewWebhook, WebhookRow } from "./WebhookRow.ts"
import { SealedWebhook, webhookSecrets } from "./WebhookSecretsRepo.ts"
import { deleteWebhooks } from "./WebhooksRepo.ts"

/** Table `webhooks`: the rows that agents manage. */
export class AgentWebhooksRepo extends Context.Tag("@svc/webhooks/AgentWebhooksRepo")<
  AgentWebhooksRepo,
  {
    /** Inserts the agent's row, or sets its url and events and enables it. An existing row keeps its secret. */
    readonly put: (row: NewWebhook) => Effect.Effect<WebhookRow>
    readonly setSecret: (agentId: number, secret: string) => Effect.Effect<Option.Option<WebhookRow>>
    /** Deletes the agent's row with its pending deliveries and dead letters. */
    readonly deleteOfAgent: (agentId: number) => Effect.Effect<void>
    /** Deletes the agent-managed rows of a project in the same way. */
    readonly deleteAllOfProject: (projectId: number) => Effect.Effect<void>
    readonly ofAgents: (agentIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<WebhookRow>>
  }
>() {
  static readonly layer: Layer.Layer<AgentWebhooksRepo, never, SqlClient.SqlClient> = Layer.effect(
    AgentWebhooksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* webhookSecrets
      const columns = sql.literal(Object.keys(WebhookRow.fields).join(", "))

      const put = SqlSchema.single({
        Request: SealedWebhook,
        Result: WebhookRow,
        execute: (row) => sql`
          insert into webhooks ${sql.insert(row)}
          on conflict (agent_id) where is_agent_managed do update set
            url = excluded.url, events = excluded.events, is_active = true, consecutive_failures = 0,
            disabled_reason = null, updated_at = now()
          returning ${columns}`
      })
      const setSecret = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, secret: Schema.String }),
        Result: WebhookRow,
        execute: ({ id, secret }) => sql`
          update webhooks set secret = ${secret}, updated_at = now()
          where id = ${id} and is_agent_managed returning ${columns}`
      })
      const ofAgents = SqlSchema.findAll({
        Request: Schema.Array(Schema.Number),
        Result: WebhookRow,
        execute: (ids) => sql`
          select ${columns} from webhooks where agent_id = any(${ids}::bigint[]) and is_agent_managed`
      })

      return {
        put: (row) => secrets.sealNew(row).pipe(Effect.flatMap(put), Effect.orDie, Effect.flatMap(secrets.open)),
        setSecret: (agentId, secret) =>
          Effect.flatMap(Effect.orDie(ofAgents([agentId])), ([row]) =>
            row === undefined
              ? Effect.succeedNone
              : Effect.flatMap(Effect.orDie(setSecret({ id: row.id, secret: secrets.seal(row.id, secret) })), (found) =>
                  Effect.transposeMapOption(found, secrets.open)
                )
          ),
        deleteOfAgent: (agentId) => Effect.asVoid(deleteWebhooks(sql, sql`agent_id = ${agentId} and is_agent_managed`)),
        deleteAllOfProject: (projectId) =>
          Effect.asVoid(deleteWebhooks(sql, sql`project_id = ${projectId} and is_agent_managed`)),
        ofAgents: (ids) => Effect.flatMap(Effect.orDie(ofAgents(ids)), Effect.forEach(secrets.open))
      }
    })
  )
}

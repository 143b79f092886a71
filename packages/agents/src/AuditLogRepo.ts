import { SqlClient, SqlSchema } from "@effect/sql"
import { type AuditAction, AuditEntry, type AuditLogPage, type AuditLogQuery } from "@svc/api/agents/AuditLog"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, Schema } from "effect"

/** An entry to insert. */
export interface NewEntry {
  readonly agent_id: number
  readonly api_key_id: number
  readonly action: AuditAction
  readonly changed_fields: ReadonlyArray<string>
  readonly old_values: { readonly [field: string]: unknown }
  readonly new_values: { readonly [field: string]: unknown }
}

const Entry = Schema.Struct({
  ...AuditEntry.fields,
  created_at: Schema.transform(Schema.DateFromSelf, Schema.String, {
    strict: true,
    decode: (date) => date.toISOString(),
    encode: (text) => new Date(text)
  })
})

/** Table `agent_audit_log`. */
export class AuditLogRepo extends Context.Tag("@svc/agents/AuditLogRepo")<
  AuditLogRepo,
  {
    /** Runs in the transaction of the change that it records. */
    readonly insert: (entry: NewEntry) => Effect.Effect<void>
    /** Newest first. Both days are UTC days, included. */
    readonly page: (agentId: number, query: AuditLogQuery) => Effect.Effect<AuditLogPage>
  }
>() {
  static readonly layer: Layer.Layer<AuditLogRepo, never, SqlClient.SqlClient> = Layer.effect(
    AuditLogRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(AuditEntry.fields).join(", "))

      const matching = (agentId: number, { action, end_date, start_date }: AuditLogQuery) =>
        sql.and([
          sql`agent_id = ${agentId}`,
          ...(action === undefined ? [] : [sql`action = ${action}`]),
          ...(start_date === undefined ? [] : [sql`created_at >= ${`${start_date}T00:00:00Z`}::timestamptz`]),
          ...(end_date === undefined
            ? []
            : [sql`created_at < ${`${end_date}T00:00:00Z`}::timestamptz + interval '1 day'`])
        ])
      const select = SqlSchema.findAll({
        Request: Schema.Any,
        Result: Entry,
        execute: ({ agentId, query }: { readonly agentId: number; readonly query: AuditLogQuery }) => sql`
          select ${columns} from agent_audit_log where ${matching(agentId, query)}
          order by id desc limit ${query.limit} offset ${query.offset}`
      })
      const count = SqlSchema.single({
        Request: Schema.Any,
        Result: Schema.Struct({ total: Schema.Int }),
        execute: ({ agentId, query }: { readonly agentId: number; readonly query: AuditLogQuery }) =>
          sql`select count(*) as total from agent_audit_log where ${matching(agentId, query)}`
      })

      return {
        insert: ({ new_values, old_values, ...entry }) =>
          sql`
            insert into agent_audit_log (agent_id, api_key_id, action, changed_fields, old_values, new_values)
            values (
              ${entry.agent_id}, ${entry.api_key_id}, ${entry.action}, ${entry.changed_fields}::text[],
              ${jsonbText(old_values)}::jsonb, ${jsonbText(new_values)}::jsonb
            )`.pipe(Effect.asVoid, Effect.orDie),
        page: Effect.fn("AuditLogRepo.page")(function* (agentId, query) {
          const { total } = yield* count({ agentId, query })
          const audit_logs = yield* select({ agentId, query })
          const { limit, offset } = query
          return { audit_logs, total, limit, offset, has_more: offset + audit_logs.length < total }
        }, Effect.orDie)
      }
    })
  )
}

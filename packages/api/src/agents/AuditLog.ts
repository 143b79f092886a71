import { Schema } from "effect"
import { Offset } from "../accounts/OffsetPage.ts"
import { Day } from "../Day.ts"
import { JsonObject, Limit, Timestamp } from "../Wire.ts"

/** Actions in the audit log. Rotating `server_secret` is `updated`. */
export const AuditAction = Schema.Literal("created", "updated", "deleted", "cloned", "webhook_secret_rotated")
export type AuditAction = typeof AuditAction.Type

/** One change of an agent. Secrets appear as their hints. */
export const AuditEntry = Schema.Struct({
  id: Schema.Int,
  agent_id: Schema.Int.annotations({ description: "The agent's numeric id" }),
  api_key_id: Schema.Int.annotations({ description: "The key that made the change" }),
  action: AuditAction,
  changed_fields: Schema.Array(Schema.String).annotations({ examples: [["name"]] }),
  old_values: JsonObject.annotations({ examples: [{ name: "Reception" }] }),
  new_values: JsonObject.annotations({ examples: [{ name: "Front desk" }] }),
  created_at: Timestamp
}).annotations({ identifier: "AgentAuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

const maxOffset = 1_000_000

/** Query of `GET /v1/agents/<id>/audit-log`. The days are UTC, both included. */
export const AuditLogQuery = Schema.Struct({
  limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
  offset: Schema.optionalWith(
    Offset.pipe(
      Schema.lessThanOrEqualTo(maxOffset, { message: () => `offset must not exceed ${maxOffset}` })
    ).annotations({ jsonSchema: { type: "integer", minimum: 0, maximum: maxOffset } }),
    { default: () => 0 }
  ),
  action: Schema.optional(AuditAction),
  start_date: Schema.optional(Day("start_date")),
  end_date: Schema.optional(Day("end_date"))
})
export type AuditLogQuery = typeof AuditLogQuery.Type

/** A part of an agent's log, newest first; `total` counts what the filters let through. */
export const AuditLogPage = Schema.Struct({
  audit_logs: Schema.Array(AuditEntry),
  total: Schema.Int,
  limit: Schema.Int,
  offset: Schema.Int,
  has_more: Schema.Boolean
})
export type AuditLogPage = typeof AuditLogPage.Type

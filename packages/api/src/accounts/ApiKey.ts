import { Schema } from "effect"
import { define } from "../VoiceError.ts"
import { Timestamp } from "../Wire.ts"
import { Name } from "./Name.ts"

/** What a project key may do: everything, or GET only. */
export const KeyScope = Schema.Literal("full", "read")
export type KeyScope = typeof KeyScope.Type

/** What a workspace key may do; the scopes do not include each other. */
export const WorkspaceScope = Schema.Literal(
  "bookings.customers.read",
  "bookings.customers.write",
  "bookings.customers.delete"
)
export type WorkspaceScope = typeof WorkspaceScope.Type

const id = Schema.Int
/** Three dots and the last 8 characters of the key. */
const key_hint = Schema.String
/** The raw key, in the answer to its creation only. */
const key = Schema.String

/** A project's key. */
export const ProjectKey = Schema.Struct({
  id,
  name: Schema.String,
  scope: KeyScope,
  key_hint,
  last_used_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  revoked_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "ProjectKey" })
export type ProjectKey = typeof ProjectKey.Type

/** An organization's key that is not revoked. */
export const OrgKey = Schema.Struct({
  id,
  name: Schema.String,
  key_hint,
  last_used_at: Schema.NullOr(Timestamp),
  created_at: Timestamp
}).annotations({ identifier: "OrgKey" })
export type OrgKey = typeof OrgKey.Type

/** A key of the workspace API. It fails from `expires_at` on. */
export const WorkspaceKey = Schema.Struct({
  id,
  name: Schema.String,
  scopes: Schema.Array(WorkspaceScope),
  key_hint,
  expires_at: Schema.NullOr(Timestamp),
  last_used_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  revoked_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "WorkspaceKey" })
export type WorkspaceKey = typeof WorkspaceKey.Type

export const CreatedProjectKey = Schema.Struct({
  id,
  name: Schema.String,
  scope: KeyScope,
  key,
  key_hint,
  created_at: Timestamp
}).annotations({ identifier: "CreatedProjectKey" })

export const CreatedOrgKey = Schema.Struct({
  id,
  name: Schema.String,
  key,
  key_hint,
  created_at: Timestamp
}).annotations({ identifier: "CreatedOrgKey" })

export const CreatedWorkspaceKey = Schema.Struct({
  id,
  name: Schema.String,
  scopes: Schema.Array(WorkspaceScope),
  key,
  key_hint,
  expires_at: Schema.NullOr(Timestamp),
  created_at: Timestamp
}).annotations({ identifier: "CreatedWorkspaceKey" })

const name = Schema.optionalWith(Name("name must not be empty"), { default: () => "Default" })

export const OrgKeyCreate = Schema.Struct({ name }).annotations({ identifier: "OrgKeyCreate" })

export const ProjectKeyCreate = Schema.Struct({
  name,
  scope: Schema.optionalWith(KeyScope, { default: () => "full" as const })
}).annotations({ identifier: "ProjectKeyCreate" })

/**
 * Whether a text is an ISO 8601 time: a day of the calendar, a time, and a zone. `Date.parse` reads 30 February as 2
 * March.
 */
const isTimestamp = (text: string): boolean => {
  const parts = /^((?!0000)\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/.exec(text)
  const day = Date.parse(`${parts?.[1]}T00:00:00Z`)
  if (Number.isNaN(day) || Number.isNaN(Date.parse(text))) return false
  return new Date(day).toISOString().startsWith(text.slice(0, 10))
}

export const WorkspaceKeyCreate = Schema.Struct({
  name,
  scopes: Schema.Array(WorkspaceScope).pipe(
    Schema.minItems(1, { message: () => "scopes must not be empty" }),
    Schema.maxItems(100, { message: () => "scopes must not exceed 100 entries" })
  ),
  /** Absent or null: never. */
  expires_at: Schema.optionalWith(
    Schema.NullOr(Schema.String).pipe(
      Schema.filter((text) => text === null || isTimestamp(text), {
        message: () => "expires_at must be an ISO 8601 timestamp",
        jsonSchema: { format: "date-time" }
      })
    ),
    { default: () => null }
  )
}).annotations({ identifier: "WorkspaceKeyCreate" })
export type WorkspaceKeyCreate = typeof WorkspaceKeyCreate.Type

export class ApiKeyNotFound extends define("ApiKeyNotFound", "API_KEY_NOT_FOUND", 404, "API key not found") {}
export class CannotRevokeCurrentKey extends define(
  "CannotRevokeCurrentKey",
  "CANNOT_REVOKE_CURRENT_KEY",
  400,
  "A key cannot revoke itself"
) {}

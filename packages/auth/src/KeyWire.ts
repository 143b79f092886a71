import type { OrgKey, ProjectKey, WorkspaceKey } from "@svc/api/accounts/ApiKey"
import { Redacted } from "effect"
import type { KeyRecord } from "./KeyRecord.ts"
import type { IssuedKey } from "./Keys.ts"

/** Wire forms of each kind of key. */

const timestamp = (date: Date | null): string | null => date?.toISOString() ?? null

const common = (key: KeyRecord) => ({
  id: key.id,
  name: key.name,
  key_hint: key.key_hint,
  created_at: key.created_at.toISOString()
})

export const orgKey = (key: KeyRecord): OrgKey => ({ ...common(key), last_used_at: timestamp(key.last_used_at) })

export const projectKey = (key: KeyRecord): ProjectKey => ({
  ...common(key),
  scope: key.scope ?? "full",
  last_used_at: timestamp(key.last_used_at),
  revoked_at: timestamp(key.revoked_at)
})

export const workspaceKey = (key: KeyRecord): WorkspaceKey => ({
  ...common(key),
  scopes: key.scopes ?? [],
  expires_at: timestamp(key.expires_at),
  last_used_at: timestamp(key.last_used_at),
  revoked_at: timestamp(key.revoked_at)
})

export const createdOrgKey = (key: IssuedKey) => ({ ...common(key), key: Redacted.value(key.key) })

export const createdProjectKey = (key: IssuedKey) => ({ ...createdOrgKey(key), scope: key.scope ?? ("full" as const) })

export const createdWorkspaceKey = (key: IssuedKey) => ({
  ...createdOrgKey(key),
  scopes: key.scopes ?? [],
  expires_at: timestamp(key.expires_at)
})

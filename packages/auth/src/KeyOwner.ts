import type { KeyScope, WorkspaceScope } from "@svc/api/accounts/ApiKey"

/** What a key belongs to: an organization, one of its projects, or its workspace. Every key has one holder. */
export type KeyHolder =
  | { readonly kind: "org"; readonly org_id: number }
  | { readonly kind: "project"; readonly org_id: number; readonly project_id: number }
  | { readonly kind: "workspace"; readonly org_id: number }

/** The holder of a key with the key's permissions. */
export type KeyOwner =
  | Extract<KeyHolder, { readonly kind: "org" }>
  | (Extract<KeyHolder, { readonly kind: "project" }> & { readonly scope: KeyScope })
  | (Extract<KeyHolder, { readonly kind: "workspace" }> & {
      readonly scopes: ReadonlyArray<WorkspaceScope>
      /** Absent or null: never. */
      readonly expires_at?: Date | null
    })

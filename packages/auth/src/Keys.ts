import type { Principal, PrincipalProject } from "@svc/api/Principal"
import type { InvalidApiKey, ProjectNotFound } from "@svc/api/VoiceError"
import { Context, type Effect, type Redacted } from "effect"

/** What a key is for: an organization, one of its projects, or the workspace API (with scopes). */
export type KeyOwner =
  | { readonly kind: "org"; readonly org_id: number }
  | {
      readonly kind: "project"
      readonly org_id: number
      readonly project_id: number
      readonly scope: "full" | "read"
    }
  | { readonly kind: "workspace"; readonly org_id: number; readonly scopes: ReadonlyArray<string> }

/** A key as it was just issued. The raw key is not stored and cannot be had again. */
export interface IssuedKey {
  readonly id: number
  readonly key: Redacted.Redacted<string>
  /** Three dots and the last 8 characters. */
  readonly key_hint: string
}

/** API keys (spec 2.3, 5; decisions §2.2). Only the SHA-256 of a key is stored. */
export class Keys extends Context.Tag("@svc/auth/Keys")<
  Keys,
  {
    /** Who the holder of this raw voice API key is. Unknown, revoked, malformed, of a deleted project: all the same error. */
    readonly authenticate: (raw: string) => Effect.Effect<Principal, InvalidApiKey>
    /** The project that an org key names in `X-Project-Id`, by public or numeric id; a foreign one is not found. */
    readonly projectOf: (orgId: number, id: string) => Effect.Effect<PrincipalProject, ProjectNotFound>
    /** Makes a key: with the raw value given, or a new random one. */
    readonly issue: (
      owner: KeyOwner,
      options: { readonly name: string; readonly key?: Redacted.Redacted<string> | undefined }
    ) => Effect.Effect<IssuedKey>
    /** Revokes a key of the organization. On this node it fails from now on, on others within 2 s. False: no such active key. */
    readonly revoke: (orgId: number, keyId: number) => Effect.Effect<boolean>
    /** Drops every look-up that is held in memory; to be called after a committed change to keys, projects or tiers. */
    readonly forget: Effect.Effect<void>
  }
>() {}

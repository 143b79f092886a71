import { ApiKeyNotFound, CannotRevokeCurrentKey } from "@svc/api/accounts/ApiKey"
import { InvalidApiKey, ValidationError } from "@svc/api/VoiceError"
import { Clock, Context, Effect, Layer } from "effect"
import type { KeyHolder, KeyOwner } from "./KeyOwner.ts"
import type { KeyRecord } from "./KeyRecord.ts"
import { type IssuedKey, Keys } from "./Keys.ts"
import { KeysRepo } from "./KeysRepo.ts"

/** Keys have numeric ids only. */
export const parseKeyId = (id: string): number | undefined => (/^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : undefined)

/** Lists, creates and revokes the keys of organizations, projects and workspaces. */
export class KeyManagement extends Context.Tag("@svc/auth/KeyManagement")<
  KeyManagement,
  {
    /** Newest first. Revoked keys of projects and workspaces stay in the list, those of organizations do not. */
    readonly list: (
      holder: KeyHolder,
      page: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<KeyRecord>>
    /** Returns the raw key, which cannot be read again. An expiry in the past is a validation error. */
    readonly create: (owner: KeyOwner, name: string) => Effect.Effect<IssuedKey, ValidationError>
    /** Revokes a key by its numeric id. A key of another holder, or a revoked one, is not found. */
    readonly revoke: (holder: KeyHolder, id: string) => Effect.Effect<void, ApiKeyNotFound>
    /**
     * The same for a request made with a key of the same holder, `current`, which cannot revoke itself. A `current` that
     * was revoked meanwhile revokes nothing: so a holder cannot lose all keys by keys that revoke each other.
     */
    readonly revokeOther: (
      holder: KeyHolder,
      id: string,
      current: number
    ) => Effect.Effect<void, ApiKeyNotFound | CannotRevokeCurrentKey | InvalidApiKey>
  }
>() {
  static readonly layer: Layer.Layer<KeyManagement, never, Keys | KeysRepo> = Layer.effect(
    KeyManagement,
    Effect.gen(function* () {
      const keys = yield* Keys
      const repo = yield* KeysRepo

      const revoke = Effect.fn("KeyManagement.revoke")(function* (holder: KeyHolder, id: string) {
        const keyId = parseKeyId(id)
        if (keyId === undefined || !(yield* keys.revoke(holder, keyId))) return yield* new ApiKeyNotFound()
      })

      return {
        list: (holder, page) => repo.page(holder, { ...page, revoked: holder.kind !== "org" }),
        create: Effect.fn("KeyManagement.create")(function* (owner, name) {
          if (owner.kind === "workspace" && owner.expires_at) {
            const now = yield* Clock.currentTimeMillis
            if (owner.expires_at.getTime() <= now) {
              return yield* ValidationError.field("expires_at", "expires_at must be in the future")
            }
          }
          return yield* keys.issue(owner, { name })
        }),
        revoke,
        revokeOther: Effect.fn("KeyManagement.revokeOther")(function* (holder, id, current) {
          const keyId = parseKeyId(id)
          if (keyId === undefined) return yield* new ApiKeyNotFound()
          if (keyId === current) return yield* new CannotRevokeCurrentKey()
          switch (yield* keys.revokeBy(holder, keyId, current)) {
            case "revoked":
              return
            case "not-found":
              return yield* new ApiKeyNotFound()
            case "refused":
              return yield* new InvalidApiKey()
          }
        })
      }
    })
  )
}

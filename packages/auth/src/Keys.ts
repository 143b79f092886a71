import type { Principal, PrincipalProject } from "@svc/api/Principal"
import { hintOf } from "@svc/api/SecretHint"
import { InvalidApiKey, type ProjectNotFound } from "@svc/api/VoiceError"
import type { WorkspacePrincipal } from "@svc/api/Workspace"
import { Clock, Context, Effect, FiberSet, Layer, Option, Redacted } from "effect"
import { Accounts } from "./Accounts.ts"
import { generateKey, hashKey, isKey } from "./KeyFormat.ts"
import type { KeyHolder, KeyOwner } from "./KeyOwner.ts"
import type { KeyRecord } from "./KeyRecord.ts"
import { type KeyRow, KeysRepo, type RevocationOutcome, type WorkspaceKeyRow } from "./KeysRepo.ts"
import { KeyUse } from "./KeyUse.ts"
import * as TtlCache from "./TtlCache.ts"

/** A newly issued key. The raw key is not stored and cannot be read again. */
export interface IssuedKey extends KeyRecord {
  readonly key: Redacted.Redacted<string>
}

/** Of each cache; `ttl` in ms. */
const cacheOptions = { ttl: 2000, capacity: 10_000 }

const toPrincipal = (row: KeyRow): Principal => ({
  kind: row.kind,
  key_id: row.id,
  scope: row.scope,
  org: { id: row.org_id, public_id: row.org_public_id, tier: row.tier },
  project:
    row.project_id === null || row.project_public_id === null
      ? null
      : { id: row.project_id, public_id: row.project_public_id }
})

/** The principal of a workspace key, and the time (ms) from which the key is refused. */
interface CachedWorkspaceKey {
  readonly principal: WorkspacePrincipal
  readonly until: number
}

const toWorkspace = (row: WorkspaceKeyRow): CachedWorkspaceKey => ({
  principal: {
    kind: "workspace",
    key_id: row.id,
    scopes: row.scopes,
    org: { id: row.org_id, public_id: row.org_public_id, tier: row.tier }
  },
  until: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY
})

/**
 * API keys (docs/reference/access.md). Only the SHA-256 of a key is stored. A request costs one hash (half a
 * microsecond) and a look-up in memory. The cached answer is read again beside a request when it is older than 1 s, and
 * before it when it is older than 2 s. Unknown keys are not cached, so a new key works at once.
 */
export class Keys extends Context.Tag("@svc/auth/Keys")<
  Keys,
  {
    /** The principal of a raw voice API key. Unknown, revoked, malformed, or of a deleted project: the same error. */
    readonly authenticate: (raw: string) => Effect.Effect<Principal, InvalidApiKey>
    /**
     * The principal of a raw workspace API key. Unknown, revoked, expired, malformed, or of the voice API: the same
     * error.
     */
    readonly authenticateWorkspace: (raw: string) => Effect.Effect<WorkspacePrincipal, InvalidApiKey>
    /** The project that an org key names in `X-Project-Id`, by public or numeric id, within its organization. */
    readonly projectOf: (orgId: number, id: string) => Effect.Effect<PrincipalProject, ProjectNotFound>
    /** Creates a key from the given raw value, or a new random one. */
    readonly issue: (
      owner: KeyOwner,
      options: { readonly name: string; readonly key?: Redacted.Redacted<string> | undefined }
    ) => Effect.Effect<IssuedKey>
    /** Revokes a key of this holder: at once on this node, within 2 s on others. False: no such active key. */
    readonly revoke: (holder: KeyHolder, keyId: number) => Effect.Effect<boolean>
    /** The same on behalf of the key `by`, which must be active itself: see {@link KeysRepo}. */
    readonly revokeBy: (holder: KeyHolder, keyId: number, by: number) => Effect.Effect<RevocationOutcome>
    /** Drops all cached look-ups. Call it after a committed change to keys, projects or tiers. */
    readonly clearCache: Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Keys, never, KeysRepo | KeyUse | Accounts> = Layer.scoped(
    Keys,
    Effect.gen(function* () {
      const repo = yield* KeysRepo
      const use = yield* KeyUse
      const accounts = yield* Accounts
      const background = yield* FiberSet.runtime(yield* FiberSet.make<unknown, unknown>())<never>()
      const principals = TtlCache.make<Principal>(cacheOptions)
      const workspaces = TtlCache.make<CachedWorkspaceKey>(cacheOptions)
      const projects = TtlCache.make<PrincipalProject>(cacheOptions)
      const invalid = Effect.suspend(() => Effect.fail(new InvalidApiKey()))

      const cached = <A, E>(cache: TtlCache.TtlCache<A>, key: string, now: number, lookUp: Effect.Effect<A, E>) =>
        TtlCache.readThrough(cache, key, now, lookUp, background)
      const find = (hash: string) =>
        Effect.flatMap(
          repo.findActive(hash),
          Option.match({ onNone: () => invalid, onSome: (row) => Effect.succeed(toPrincipal(row)) })
        )
      const findWorkspace = (hash: string) =>
        Effect.flatMap(
          repo.findWorkspace(hash),
          Option.match({ onNone: () => invalid, onSome: (row) => Effect.succeed(toWorkspace(row)) })
        )
      const clearCache = Effect.sync(() => {
        principals.clear()
        workspaces.clear()
        projects.clear()
      })

      return {
        authenticate: (raw) => {
          if (!isKey("project", raw) && !isKey("org", raw)) return invalid
          const hash = hashKey(raw)
          return Effect.clockWith((clock) => {
            const now = clock.unsafeCurrentTimeMillis()
            return Effect.map(cached(principals, hash, now, find(hash)), (principal) => {
              use.record(principal.key_id, now)
              return principal
            })
          })
        },
        authenticateWorkspace: (raw) => {
          if (!isKey("workspace", raw)) return invalid
          const hash = hashKey(raw)
          return Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.flatMap(cached(workspaces, hash, now, findWorkspace(hash)), ({ principal, until }) => {
              if (now >= until) return invalid
              use.record(principal.key_id, now)
              return Effect.succeed(principal)
            })
          )
        },
        projectOf: (orgId, id) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            cached(
              projects,
              `${orgId}/${id}`,
              now,
              Effect.map(accounts.project(orgId, id), (project) => ({ id: project.id, public_id: project.public_id }))
            )
          ),
        issue: Effect.fn("Keys.issue")(function* (owner, options) {
          const key = options.key ?? Redacted.make(generateKey(owner.kind))
          const raw = Redacted.value(key)
          const record = yield* repo.insert({
            kind: owner.kind,
            org_id: owner.org_id,
            project_id: owner.kind === "project" ? owner.project_id : null,
            name: options.name,
            scope: owner.kind === "project" ? owner.scope : null,
            scopes: owner.kind === "workspace" ? owner.scopes : null,
            expires_at: owner.kind === "workspace" ? (owner.expires_at ?? null) : null,
            hash: hashKey(raw),
            key_hint: hintOf(raw)
          })
          return { ...record, key }
        }),
        // Also when the database's answer was lost: the key may be revoked.
        revoke: (holder, keyId) =>
          repo.revoke(holder, keyId).pipe(Effect.ensuring(clearCache), Effect.withSpan("Keys.revoke")),
        revokeBy: (holder, keyId, by) =>
          repo.revokeBy(holder, keyId, by).pipe(Effect.ensuring(clearCache), Effect.withSpan("Keys.revokeBy")),
        clearCache
      }
    })
  )
}

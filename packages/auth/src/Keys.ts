import type { Principal, PrincipalProject } from "@svc/api/Principal"
import { InvalidApiKey, type ProjectNotFound } from "@svc/api/VoiceError"
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import { Accounts } from "./Accounts.ts"
import * as BriefCache from "./BriefCache.ts"
import { generateKey, hashKey, hintOf, isKey } from "./KeyFormat.ts"
import { type KeyRow, KeysRepo } from "./KeysRepo.ts"
import { KeyUse } from "./KeyUse.ts"

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

/** How long a look-up is believed without asking the database, and how many are held. */
const held = { ttl: 2000, capacity: 10_000 }

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

/**
 * API keys (spec 2.3, 5; decisions §2.2). Only the SHA-256 of a key is stored. A request costs one hash (half a
 * microsecond) and a look-up in memory; the database is asked when the last answer for that key is older than 2 s.
 * Unknown keys are not remembered, so a new key works at once.
 */
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
>() {
  static readonly layer: Layer.Layer<Keys, never, KeysRepo | KeyUse | Accounts> = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const repo = yield* KeysRepo
      const use = yield* KeyUse
      const accounts = yield* Accounts
      const principals = BriefCache.make<Principal>(held)
      const projects = BriefCache.make<PrincipalProject>(held)
      const invalid = Effect.suspend(() => Effect.fail(new InvalidApiKey()))

      const through = <A, E>(
        cache: BriefCache.BriefCache<A>,
        key: string,
        now: number,
        lookUp: Effect.Effect<A, E>
      ) => {
        const hit = cache.get(key, now)
        if (hit !== undefined) return Effect.succeed(hit)
        const epoch = cache.epoch()
        return Effect.map(lookUp, (found) => {
          cache.set(key, found, now, epoch)
          return found
        })
      }
      const find = (hash: string) =>
        Effect.flatMap(
          repo.findActive(hash),
          Option.match({ onNone: () => invalid, onSome: (row) => Effect.succeed(toPrincipal(row)) })
        )
      const forget = Effect.sync(() => {
        principals.clear()
        projects.clear()
      })

      return {
        authenticate: (raw) => {
          if (!isKey("project", raw) && !isKey("org", raw)) return invalid
          const hash = hashKey(raw)
          return Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(through(principals, hash, now, find(hash)), (principal) => {
              use.note(principal.key_id, now)
              return principal
            })
          )
        },
        projectOf: (orgId, id) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            through(
              projects,
              `${orgId}/${id}`,
              now,
              Effect.map(accounts.project(orgId, id), (project) => ({ id: project.id, public_id: project.public_id }))
            )
          ),
        issue: Effect.fn("Keys.issue")(function* (owner, options) {
          const key = options.key ?? Redacted.make(generateKey(owner.kind))
          const raw = Redacted.value(key)
          const key_hint = hintOf(raw)
          const id = yield* repo.insert({
            kind: owner.kind,
            org_id: owner.org_id,
            project_id: owner.kind === "project" ? owner.project_id : null,
            name: options.name,
            scope: owner.kind === "project" ? owner.scope : null,
            scopes: owner.kind === "workspace" ? owner.scopes : null,
            hash: hashKey(raw),
            key_hint
          })
          return { id, key, key_hint }
        }),
        revoke: Effect.fn("Keys.revoke")(function* (orgId, keyId) {
          const revoked = yield* repo.revoke(orgId, keyId)
          yield* forget
          return revoked
        }),
        forget
      }
    })
  )
}

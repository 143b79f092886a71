import type { KeyScope, WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { Administration, type HolderIds } from "@svc/auth/Administration"
import type { KeyRecord } from "@svc/auth/KeyRecord"
import { Console, Effect, Option, Redacted } from "effect"
import { CommandServices } from "./CommandServices.ts"
import { namesWhatIsNotFound } from "./NotFound.ts"
import { table } from "./Table.ts"

type Kind = HolderIds["kind"]

const row = (key: KeyRecord) => ({
  id: key.id,
  kind: key.kind,
  project: key.project_id,
  name: key.name,
  hint: key.key_hint,
  scope: key.scope ?? key.scopes?.join(",") ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null
})

const holder = (kind: Kind, org: string, project: Option.Option<string>): HolderIds =>
  Option.isSome(project) ? { kind, org, project: project.value } : { kind, org }

/** `svc keys create <kind> --org <id> …`: prints the raw key, which cannot be shown again. */
export const create = (options: {
  readonly kind: Kind
  readonly org: string
  readonly project: Option.Option<string>
  readonly name: Option.Option<string>
  readonly scope: Option.Option<KeyScope>
  readonly scopes: Option.Option<ReadonlyArray<WorkspaceScope>>
  readonly json: boolean
}) =>
  Effect.gen(function* () {
    const admin = yield* Administration
    const issued = yield* admin.createKey({
      ...holder(options.kind, options.org, options.project),
      ...(Option.isSome(options.name) ? { name: options.name.value } : {}),
      ...(Option.isSome(options.scope) ? { scope: options.scope.value } : {}),
      ...(Option.isSome(options.scopes) ? { scopes: options.scopes.value } : {})
    })
    const key = Redacted.value(issued.key)
    yield* Console.log(
      options.json
        ? JSON.stringify({ id: issued.id, kind: options.kind, key, key_hint: issued.key_hint })
        : `Key ${issued.id}; note it now, it is not shown again:\n\n  ${key}`
    )
  }).pipe(
    namesWhatIsNotFound({ org: options.org, project: Option.getOrUndefined(options.project) }),
    Effect.provide(CommandServices)
  )

/**
 * `svc keys list [kind] --org <id> [--project <id>]`: without a kind, all keys of the project, or of the organization
 * and its workspace.
 */
export const list = (options: {
  readonly kind: Option.Option<Kind>
  readonly org: string
  readonly project: Option.Option<string>
  readonly json: boolean
}) =>
  Effect.gen(function* () {
    const admin = yield* Administration
    const kinds: ReadonlyArray<Kind> = Option.match(options.kind, {
      onSome: (kind) => [kind],
      onNone: () => (Option.isSome(options.project) ? ["project"] : ["org", "workspace"])
    })
    const found = yield* Effect.forEach(kinds, (kind) => admin.keys(holder(kind, options.org, options.project)))
    const keys = found.flat()
    yield* Console.log(options.json ? JSON.stringify({ keys }) : table(keys.map(row)))
  }).pipe(
    namesWhatIsNotFound({ org: options.org, project: Option.getOrUndefined(options.project) }),
    Effect.provide(CommandServices)
  )

/** `svc keys revoke <id>` */
export const revoke = (options: { readonly id: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const key = yield* Effect.flatMap(Administration, (admin) => admin.revokeKey(options.id))
    yield* Console.log(
      options.json
        ? JSON.stringify({ revoked: true, id: key.id })
        : `The ${key.kind} key ${key.id} (${key.key_hint}) is revoked.`
    )
  }).pipe(namesWhatIsNotFound({ key: options.id }), Effect.provide(CommandServices))

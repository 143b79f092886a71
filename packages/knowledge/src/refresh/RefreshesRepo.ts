import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { KnowledgeBaseId } from "@svc/api/Ids"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** A base whose refresh a node has claimed. `claim` numbers the claims of a base. */
const Claimed = Schema.Struct({
  id: Schema.Int,
  public_id: KnowledgeBaseId,
  org_id: Schema.Int,
  project_id: Schema.Int,
  source_url: Schema.String,
  claim: Schema.Int,
  attempts: Schema.Int,
  auto_refresh_hours: Schema.NullOr(Schema.Int),
  consecutive_failures: Schema.Int
})
export type Claimed = typeof Claimed.Type

/** Minutes after which a claim is void, because the process that made it hangs. Longer than any refresh. */
const claimMinutes = 20
/** Refreshes of one organization at once. */
const maxOfOrganization = 2

/**
 * The refreshes of table `knowledge_bases`. A base is due when `next_at` has come: at once when a refresh was asked for,
 * else by `auto_refresh_hours`.
 */
export class RefreshesRepo extends Context.Tag("@svc/knowledge/RefreshesRepo")<
  RefreshesRepo,
  {
    /** Makes a base due at once, and `refreshing`. A refresh that runs or waits stays. */
    readonly request: (id: number) => Effect.Effect<void>
    /** Ends a running refresh without a result, for a base that gets another source. */
    readonly cancel: (id: number) => Effect.Effect<void>
    /** Sets the time of the next automatic refresh of a base that is not being refreshed: hours from now, or never. */
    readonly schedule: (id: number, hours: number | null) => Effect.Effect<void>
    /** Whether a base is due that {@link claim} would claim: an expression for DueCheck. */
    readonly hasDue: Statement.Fragment
    /** Claims a base that is due. Few of one organization at once, so that it does not keep others waiting. */
    readonly claim: (node: string) => Effect.Effect<Option.Option<Claimed>>
    /** Whether a claim is still the base's newest. */
    readonly isCurrent: (claimed: Claimed) => Effect.Effect<boolean>
    /** Inside a transaction: locks the base of a claim. None when it was deleted, changed or claimed by another node. */
    readonly lock: (claimed: Claimed) => Effect.Effect<Option.Option<Claimed>>
    /** Ends a refresh that succeeded. Returns the time. */
    readonly succeed: (
      id: number,
      to: { readonly truncated: number; readonly last_error: string | null }
    ) => Effect.Effect<Date>
    /** Ends a refresh that failed. `isAutomatic`: whether the base is refreshed again by itself. */
    readonly fail: (
      id: number,
      to: { readonly last_error: string; readonly isAutomatic: boolean }
    ) => Effect.Effect<Date>
    /** Gives a claim up without a result: the source is read again in half a minute. */
    readonly giveUp: (claimed: Claimed) => Effect.Effect<void>
    /** Makes the claims of dead nodes due. */
    readonly release: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<RefreshesRepo, never, SqlClient.SqlClient> = Layer.effect(
    RefreshesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(Claimed.fields).join(", "))
      const due = sql`
        from knowledge_bases due
        where next_at <= now() and (
          select count(*) from knowledge_bases running
          where running.next_at > now() and running.leased_by is not null and running.org_id = due.org_id
        ) < ${maxOfOrganization}`
      const claim = SqlSchema.findOne({
        Request: Schema.String,
        Result: Claimed,
        execute: (node) => sql`
          update knowledge_bases set leased_by = ${node}, claim = claim + 1, attempts = attempts + 1,
            status = 'refreshing', next_at = now() + ${claimMinutes} * interval '1 minute'
          where id = (
            select id ${due}
            order by next_at limit 1 for no key update skip locked
          )
          returning ${columns}`
      })
      const Ref = Schema.Struct({ id: Schema.Number, claim: Schema.Number })
      const lock = SqlSchema.findOne({
        Request: Ref,
        Result: Claimed,
        execute: ({ claim, id }) => sql`
          select ${columns} from knowledge_bases
          where id = ${id} and claim = ${claim} and leased_by is not null and deleted_at is null for no key update`
      })
      const ended = Schema.decodeUnknown(Schema.NonEmptyArray(Schema.Struct({ updated_at: Schema.DateFromSelf })))
      const run = (work: Effect.Effect<unknown, unknown>) => Effect.asVoid(Effect.orDie(work))

      return {
        request: (id) =>
          run(sql`
            update knowledge_bases set status = 'refreshing', next_at = now(), attempts = 0
            where id = ${id} and status <> 'refreshing'`),
        cancel: (id) =>
          run(sql`
            update knowledge_bases set claim = claim + 1, leased_by = null, next_at = null, attempts = 0 where id = ${id}`),
        schedule: (id, hours) =>
          run(sql`
            update knowledge_bases set next_at = now() + ${hours}::integer * interval '1 hour'
            where id = ${id} and status <> 'refreshing'`),
        hasDue: sql`exists (select ${due})`,
        claim: (node) => Effect.orDie(claim(node)),
        isCurrent: ({ claim, id }) =>
          sql`
            select 1 from knowledge_bases
            where id = ${id} and claim = ${claim} and leased_by is not null and deleted_at is null`.pipe(
            Effect.map((found) => found.length > 0),
            Effect.orDie
          ),
        lock: ({ claim, id }) => Effect.orDie(lock({ claim, id })),
        succeed: Effect.fn("RefreshesRepo.succeed")(function* (id, { last_error, truncated }) {
          const rows = yield* sql`
            update knowledge_bases set status = 'ready', last_error = ${last_error}, consecutive_failures = 0,
              last_refreshed_at = now(), updated_at = now(), entries_truncated = ${truncated}, leased_by = null, attempts = 0,
              entry_count = (select count(*) from knowledge_passages where knowledge_base_id = ${id}),
              next_at = now() + auto_refresh_hours * interval '1 hour'
            where id = ${id} returning updated_at`
          return (yield* ended(rows))[0].updated_at
        }, Effect.orDie),
        fail: Effect.fn("RefreshesRepo.fail")(function* (id, { isAutomatic, last_error }) {
          const rows = yield* sql`
            update knowledge_bases set status = 'failed', last_error = ${last_error},
              consecutive_failures = consecutive_failures + 1, updated_at = now(), leased_by = null, attempts = 0,
              next_at = case when ${isAutomatic} then now() + auto_refresh_hours * interval '1 hour' end
            where id = ${id} returning updated_at`
          return (yield* ended(rows))[0].updated_at
        }, Effect.orDie),
        giveUp: ({ claim, id }) =>
          run(sql`
            update knowledge_bases set next_at = now() + interval '30 seconds', leased_by = null
            where id = ${id} and claim = ${claim} and leased_by is not null`),
        release: (nodes) =>
          run(sql`
            update knowledge_bases set next_at = now(), leased_by = null
            where leased_by = any(${nodes}::text[]) and next_at is not null`)
      }
    })
  )
}

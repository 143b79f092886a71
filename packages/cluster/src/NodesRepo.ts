import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"

const Ids = Schema.Array(Schema.Struct({ id: Schema.String }))
const Extended = Schema.Array(Schema.Struct({ others: Schema.Number }))

/**
 * The table of leases. All its times are the database's, so that clocks of nodes need not agree. A node whose database
 * is away must notice and go on, so unlike elsewhere the errors of SQL are handed to the caller.
 */
export class NodesRepo extends Context.Tag("@svc/cluster/NodesRepo")<
  NodesRepo,
  {
    /** Begins a lease. */
    readonly begin: (id: string, seconds: number) => Effect.Effect<void, SqlError.SqlError>
    /** Extends a lease and gives how many others run; none when it is no longer ours to extend. */
    readonly extend: (id: string, seconds: number) => Effect.Effect<Option.Option<number>, SqlError.SqlError>
    /** Lets a lease run out now. */
    readonly expire: (id: string) => Effect.Effect<void, SqlError.SqlError>
    /** Lets the leases of all others run out now. */
    readonly expireOthers: (id: string) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Hands the nodes that are dead and that nobody has settled under this name yet to `settle`, in one transaction
     * with the note that they are settled: it happens once, on one node, or again if it fails.
     */
    readonly settleDead: <E>(
      self: string,
      name: string,
      settle: (ids: ReadonlyArray<string>) => Effect.Effect<void, E>
    ) => Effect.Effect<ReadonlyArray<string>, E | SqlError.SqlError>
  }
>() {
  static readonly layer: Layer.Layer<NodesRepo, never, SqlClient.SqlClient> = Layer.effect(
    NodesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = (result: unknown) => Effect.orDie(Schema.decodeUnknown(Ids)(result))

      const begin = Effect.fn("NodesRepo.begin")(function* (id: string, seconds: number) {
        yield* sql`delete from nodes where dead_at < now() - interval '30 days'`
        yield* sql`insert into nodes (id, expires_at) values (${id}, now() + make_interval(secs => ${seconds}))`
      })

      const extend = Effect.fnUntraced(function* (id: string, seconds: number) {
        const extended = yield* sql`
          update nodes set expires_at = now() + make_interval(secs => ${seconds})
          where id = ${id} and dead_at is null
          returning (
            select count(*) from nodes other where other.expires_at > now() and other.dead_at is null and other.id <> ${id}
          ) as others`
        const [found] = yield* Effect.orDie(Schema.decodeUnknown(Extended)(extended))
        return found === undefined ? Option.none() : Option.some(found.others)
      })

      const expire = Effect.fn("NodesRepo.expire")(function* (id: string) {
        yield* sql`update nodes set expires_at = now() where id = ${id} and dead_at is null`
      })

      const expireOthers = Effect.fn("NodesRepo.expireOthers")(function* (id: string) {
        yield* sql`update nodes set expires_at = now() where id <> ${id} and dead_at is null and expires_at > now()`
      })

      const settleDead = <E>(
        self: string,
        name: string,
        settle: (ids: ReadonlyArray<string>) => Effect.Effect<void, E>
      ) =>
        Effect.gen(function* () {
          const dead = yield* sql`
            update nodes set dead_at = coalesce(dead_at, now()), settled = array_append(settled, ${name})
            where id in (
              select id from nodes
              where expires_at <= now() and id <> ${self} and not ${name} = any(settled)
              for update skip locked
            )
            returning id`
          const ids = (yield* rows(dead)).map(({ id }) => id)
          if (ids.length > 0) yield* settle(ids)
          return ids
        }).pipe(sql.withTransaction)

      return { begin, extend, expire, expireOthers, settleDead }
    })
  )
}

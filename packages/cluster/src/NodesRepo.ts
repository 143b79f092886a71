import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"

const Ids = Schema.Array(Schema.Struct({ id: Schema.String }))
/** The number of other live nodes, and the names under which a dead node is not settled yet. */
const Extended = Schema.Struct({ others: Schema.Number, unsettled: Schema.Array(Schema.String) })
type Extended = typeof Extended.Type

/**
 * Table `nodes`: the leases. All times are the database's, so the clocks of nodes need not agree. SQL errors are
 * returned, because a node must handle an unreachable database.
 */
export class NodesRepo extends Context.Tag("@svc/cluster/NodesRepo")<
  NodesRepo,
  {
    /** Inserts a lease. */
    readonly begin: (id: string, seconds: number) => Effect.Effect<void, SqlError.SqlError>
    /** Extends a lease, and looks for dead nodes that are not settled under these names; none when it was declared dead. */
    readonly extend: (
      id: string,
      seconds: number,
      names: ReadonlyArray<string>
    ) => Effect.Effect<Option.Option<Extended>, SqlError.SqlError>
    /** Ends a lease now. */
    readonly expire: (id: string) => Effect.Effect<void, SqlError.SqlError>
    /** Ends the leases of all other nodes now. */
    readonly expireOthers: (id: string) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Passes the dead nodes that are not settled under this name yet to `settle`, and marks them as settled in the same
     * transaction: each is settled once, on one node, or again if it fails.
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

      const extend = Effect.fnUntraced(function* (id: string, seconds: number, names: ReadonlyArray<string>) {
        const extended = yield* sql`
          update nodes set expires_at = now() + make_interval(secs => ${seconds})
          where id = ${id} and dead_at is null
          returning (
            select count(*) from nodes other where other.expires_at > now() and other.dead_at is null and other.id <> ${id}
          ) as others,
          array(
            select distinct name from nodes dead, unnest(${names}::text[]) as name
            where dead.expires_at <= now() and dead.id <> ${id} and not name = any(dead.settled)
          ) as unsettled`
        const [row] = extended
        return row === undefined ? Option.none() : Option.some(yield* Effect.orDie(Schema.decodeUnknown(Extended)(row)))
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

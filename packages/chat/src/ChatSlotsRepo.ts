import { SqlClient, type SqlError } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"

/** A slot of an organization. */
export interface ChatSlot {
  readonly org_id: number
  /** The completion for which it was taken. When the slot is kept, others use it after that. */
  readonly completion_id: string
  /** The lease of the node that has it. */
  readonly node_id: string
}

const Attempt = Schema.Tuple(Schema.Struct({ free: Schema.Int, taken: Schema.Int }))

/** How many slots beyond the taken ones an attempt chooses from, so that concurrent attempts rarely choose the same. */
const choices = 16

/**
 * Table `chat_slots`: the slots that nodes have, for completions that run or for the next ones. Completions go on while the database is unreachable,
 * so unlike in other repositories SQL errors are returned to the caller.
 */
export class ChatSlotsRepo extends Context.Tag("@svc/chat/ChatSlotsRepo")<
  ChatSlotsRepo,
  {
    /** Takes one of the slots 1 to `limit` of the organization; false when all are taken. */
    readonly take: (slot: ChatSlot, limit: number) => Effect.Effect<boolean, SqlError.SqlError>
    readonly release: (slots: ReadonlyArray<ChatSlot>) => Effect.Effect<void, SqlError.SqlError>
    readonly releaseAllOf: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<ChatSlotsRepo, never, SqlClient.SqlClient> = Layer.effect(
    ChatSlotsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** The key of the table decides between attempts that choose the same slot: one of them inserts nothing. */
      const attempt = ({ completion_id, node_id, org_id }: ChatSlot, limit: number) =>
        sql`
          with free as (
            select slot from generate_series(
              1, least(${limit}::int, (select count(*)::int from chat_slots where org_id = ${org_id}::bigint) + ${choices}::int)
            ) slot
            where not exists (select 1 from chat_slots t where t.org_id = ${org_id}::bigint and t.slot = slot.slot)
            order by random() limit 1
          ), taken as (
            insert into chat_slots (org_id, slot, completion_id, node_id)
            select ${org_id}::bigint, slot, ${completion_id}::text, ${node_id}::text from free
            on conflict do nothing returning slot
          )
          select (select count(*) from free) as free, (select count(*) from taken) as taken`.pipe(
          Effect.flatMap((rows) => Effect.orDie(Schema.decodeUnknown(Attempt)(rows)))
        )
      const take = (slot: ChatSlot, limit: number): Effect.Effect<boolean, SqlError.SqlError> =>
        Effect.flatMap(attempt(slot, limit), ([{ free, taken }]) =>
          taken === 0 && free > 0 ? take(slot, limit) : Effect.succeed(taken > 0)
        )

      return {
        take,
        release: (slots) =>
          Effect.asVoid(sql`
            delete from chat_slots using unnest(
              ${slots.map(({ org_id }) => org_id)}::bigint[], ${slots.map(({ completion_id }) => completion_id)}::text[]
            ) as released(org_id, completion_id)
            where chat_slots.org_id = released.org_id and chat_slots.completion_id = released.completion_id`),
        releaseAllOf: (nodes) =>
          Effect.asVoid(Effect.orDie(sql`delete from chat_slots where node_id = any(${nodes}::text[])`))
      }
    })
  )
}

import type { SqlClient, Statement } from "@effect/sql"
import type { Ask } from "./QueueRepo.ts"

/** What nodes settle of dead ones under this name (see NodeLease): their leases on deliveries. */
export const leases = "webhooks.deliveries"
/** How many first attempts of a webhook are searched for those that other nodes have. */
const head = 4096

/** Steps from webhook to webhook through an index, over all rows of each. */
const webhooksIn = (sql: SqlClient.SqlClient, name: string, which: string) => sql`
  ${sql.literal(name)} (webhook_id) as (
    (select webhook_id from webhook_deliveries where ${sql.literal(which)} order by webhook_id limit 1)
    union all
    select (
      select d.webhook_id from webhook_deliveries d
      where ${sql.literal(`d.${which}`)} and d.webhook_id > w.webhook_id order by d.webhook_id limit 1
    ) from ${sql.literal(name)} w where w.webhook_id is not null
  )`

/**
 * First attempts of the webhook `w` with ids between these. Rows are compared whole, because only the index by webhook can
 * do that: by ids alone those of others would be read as well, and one may have a hundred thousand in the queue.
 */
const firstsBetween = (sql: SqlClient.SqlClient, above: string, below: string) => sql`
  d.attempts = 0 and (d.webhook_id, d.id) > (w.webhook_id, ${sql.literal(above)})
    and (d.webhook_id, d.id) < (w.webhook_id, ${sql.literal(below)})`
/** In the order of that index. */
const byPlace = "d.webhook_id, d.id"
const lowest = "0::bigint"
const highest = "9223372036854775807"

/**
 * Takes deliveries for a node. First attempts of each webhook in the order of their ids, further ones in the order of
 * their times; every webhook gets its first before any gets its second. A first attempt that comes after another one of
 * its call is left when somebody else has that one: the events of a call start in their order (decisions §5.8).
 *
 * The queue is small and was large a moment ago, or the other way round, so statistics about it mislead: its rows are
 * named by arrays and laterals, which leave the planner nothing but the indexes.
 */
export const claimStatement = (
  sql: SqlClient.SqlClient,
  unhurried: Statement.Fragment,
  { alone, firstBefore, known, node, now, only, room, roomForOthers, roomLeft }: Ask
): Statement.Fragment => {
  const free =
    known === undefined
      ? sql`d.leased_by is null`
      : sql`(
        d.leased_by is null
        or (d.leased_by = ${node} and d.id not in (select unnest(${known}::bigint[])))
        or d.leased_by in (select id from nodes where ${leases} = any(settled))
      )`
  const isDue = firstBefore === undefined ? sql`true` : sql`(d.is_replay or d.is_resend or d.next_at <= ${firstBefore})`
  const floor = only === undefined ? lowest : "w.floor"
  // Alone, what is below the floor has been sent in its order. Another node may still have some of it.
  const floorElsewhere = alone ? floor : lowest
  // What other nodes have is near the head of the queue, where it would fill the room with what has to wait for it.
  const reckons = known !== undefined && only === undefined && !alone
  const held = reckons
    ? sql`
      held as materialized (
        select w.webhook_id, x.call_id, min(x.id) as id from firsts w
        cross join lateral (
          select d.id, d.call_id, d.leased_by from webhook_deliveries d
          where ${firstsBetween(sql, lowest, highest)} order by ${sql.literal(byPlace)} limit ${head}
        ) x
        where x.leased_by <> ${node} and x.call_id is not null
        group by w.webhook_id, x.call_id
      ),`
    : sql``
  const mayStart = reckons
    ? sql`not exists (
        select 1 from held where held.webhook_id = w.webhook_id and held.call_id = d.call_id and held.id < d.id
      )`
    : sql`true`
  const open = sql`limit coalesce(b.room, ${roomForOthers}::int) for update skip locked`
  const webhooks =
    only === undefined
      ? sql`recursive ${webhooksIn(sql, "firsts", "attempts = 0")}, ${webhooksIn(sql, "agains", "attempts > 0")}`
      : sql`firsts (webhook_id, floor) as (select * from unnest(${[...only.keys()]}::bigint[], ${[...only.values()]}::bigint[]))`
  const agains =
    only === undefined
      ? sql`
        union all
        select x.id, w.webhook_id, null::text, false, x.place
        from agains w left join busy b on b.webhook_id = w.webhook_id
        cross join lateral (
          select y.id, row_number() over (order by y.next_at) as place from (
            select d.id, d.next_at from webhook_deliveries d
            where d.webhook_id = w.webhook_id and d.attempts > 0 and d.next_at <= ${now} and ${free}
            order by d.next_at ${open}
          ) y
        ) x`
      : sql``
  return sql`
    with ${webhooks},
    busy (webhook_id, room) as (
      select * from unnest(${[...roomLeft.keys()]}::bigint[], ${[...roomLeft.values()]}::int[])
    ),
    ${held}
    due as materialized (
      select id, webhook_id, call_id, is_first from (
        select x.id, w.webhook_id, x.call_id, true as is_first, x.place
        from firsts w left join busy b on b.webhook_id = w.webhook_id
        cross join lateral (
          select y.id, y.call_id, row_number() over (order by y.id) as place from (
            select d.id, d.call_id from webhook_deliveries d
            where ${firstsBetween(sql, floor, highest)} and ${isDue} and ${free} and ${mayStart}
            order by ${sql.literal(byPlace)} ${open}
          ) y
        ) x
        ${agains}
      ) candidates order by place, random() limit ${room}
    ),
    elsewhere as materialized (
      select w.webhook_id, x.call_id, min(x.id) as id
      from firsts w
      join (
        select webhook_id, max(id) as last from due where is_first and call_id is not null group by webhook_id
      ) l on l.webhook_id = w.webhook_id
      cross join lateral (
        select d.id, d.call_id, d.leased_by from webhook_deliveries d
        where ${firstsBetween(sql, floorElsewhere, "l.last")} order by ${sql.literal(byPlace)} offset 0
      ) x
      where x.leased_by is distinct from ${node} and x.call_id is not null and x.id not in (select id from due)
      group by w.webhook_id, x.call_id
    ),
    taken as (
      update webhook_deliveries d set leased_by = ${node}
      where d.id = any(array(
        select due.id from due left join elsewhere e on e.webhook_id = due.webhook_id and e.call_id = due.call_id
        where not due.is_first or e.id is null or due.id < e.id
      ))
      returning d.*
    )
    select t.id, t.webhook_id, t.event_id, t.event, t.org_id, t.call_id, t.is_replay, t.is_resend, t.attempts,
      coalesce(h.url, '') as url, coalesce(h.secret, '') as secret, coalesce(h.is_active, false) as is_active,
      coalesce(h.consecutive_failures, 0) as consecutive_failures, e.project_id, e.agent_id,
      coalesce(e.api_version, '') as api_version, coalesce(e.data::text, '') as data,
      to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timestamp
    from taken t
    left join lateral (select * from webhooks where webhooks.id = t.webhook_id offset 0) h on true
    left join lateral (select * from events where events.seq = t.event_seq offset 0) e on true
    where ${unhurried}
    order by t.id`
}

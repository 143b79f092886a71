import type { SqlClient, Statement } from "@effect/sql"
import { mayReceive } from "./EventMatch.ts"
import type { ClaimRequest } from "./QueueRepo.ts"

/** The registration under which nodes settle the leases of dead nodes on deliveries; see NodeLease.onDeath. */
export const leases = "webhooks.deliveries"
/** How many first attempts of a webhook are searched for ones that other nodes hold. */
const searchDepth = 4096

/**
 * A recursive query for the ids of webhooks that have such rows. Skips from one to the next through an index, over all
 * its rows.
 */
const webhooksWith = (sql: SqlClient.SqlClient, name: string, condition: string) => sql`
  ${sql.literal(name)} (webhook_id) as (
    (select webhook_id from webhook_deliveries where ${sql.literal(condition)} order by webhook_id limit 1)
    union all
    select (
      select d.webhook_id from webhook_deliveries d
      where ${sql.literal(`d.${condition}`)} and d.webhook_id > w.webhook_id order by d.webhook_id limit 1
    ) from ${sql.literal(name)} w where w.webhook_id is not null
  )`

/**
 * A query for the milliseconds from `now` until a pending delivery is due, `ms`: 0 when there are first attempts, null when
 * there is none. A retry that a node holds counts like a free one, so the time may be in the past.
 */
export const untilDueStatement = (
  sql: SqlClient.SqlClient,
  now: Date
): Statement.Statement<{ readonly ms: number | null }> => sql`
  with recursive ${webhooksWith(sql, "retries", "attempts > 0")}
  select case
    when exists (select 1 from webhook_deliveries where attempts = 0) then 0
    else (
      select ceil(extract(epoch from min(x.next_at) - ${now}::timestamptz) * 1000)
      from retries w cross join lateral (
        select d.next_at from webhook_deliveries d
        where d.webhook_id = w.webhook_id and d.attempts > 0 order by d.next_at limit 1
      ) x
    )
  end::float8 as ms`

/**
 * First attempts of the webhook `w` with ids between these. Compares rows, because only the index by webhook and id can
 * evaluate that: by ids alone the rows of other webhooks would be read too, and one may have a hundred thousand.
 */
const firstsBetween = (sql: SqlClient.SqlClient, above: string, below: string) => sql`
  d.attempts = 0 and (d.webhook_id, d.id) > (w.webhook_id, ${sql.literal(above)})
    and (d.webhook_id, d.id) < (w.webhook_id, ${sql.literal(below)})`
/** The order of that index. */
const indexOrder = "d.webhook_id, d.id"
const lowest = "0::bigint"
const highest = "9223372036854775807"

/**
 * Claims deliveries for a node: first attempts of each webhook in the order of their ids, retries in the order of their
 * times; every webhook gets its first before any gets its second. A first attempt is skipped while another node holds
 * an earlier one of the same call, so that the events of a call start in their order.
 *
 * The queue grows and shrinks so fast that statistics about it mislead the planner. So rows are selected by arrays and
 * lateral joins, for which it can only use the indexes.
 */
export const claimStatement = (
  sql: SqlClient.SqlClient,
  asyncCommit: Statement.Fragment,
  {
    firstAttemptsBefore,
    held,
    isOnlyNode,
    node,
    now,
    room,
    roomByWebhook,
    roomPerOther,
    webhooks: onlyWebhooks
  }: ClaimRequest
): Statement.Fragment => {
  const free =
    held === undefined
      ? sql`d.leased_by is null`
      : sql`(
        d.leased_by is null
        or (d.leased_by = ${node} and d.id not in (select unnest(${held}::bigint[])))
        or d.leased_by in (select id from nodes where ${leases} = any(settled))
      )`
  const isDue =
    firstAttemptsBefore === undefined
      ? sql`true`
      : sql`(d.is_replay or d.is_resend or d.next_at <= ${firstAttemptsBefore})`
  const floor = onlyWebhooks === undefined ? lowest : "w.floor"
  // The only node has started everything below the floor in order. Another node may still hold some of it.
  const floorOfOthers = isOnlyNode ? floor : lowest
  // What other nodes hold is near the head of the queue, where the deliveries that wait for it would use up the room.
  const skipsHeld = held !== undefined && onlyWebhooks === undefined && !isOnlyNode
  const heldByOthers = skipsHeld
    ? sql`
      held as materialized (
        select w.webhook_id, x.call_id, min(x.id) as id from firsts w
        cross join lateral (
          select d.id, d.call_id, d.leased_by from webhook_deliveries d
          where ${firstsBetween(sql, lowest, highest)} order by ${sql.literal(indexOrder)} limit ${searchDepth}
        ) x
        where x.leased_by <> ${node} and x.call_id is not null
        group by w.webhook_id, x.call_id
      ),`
    : sql``
  const mayStart = skipsHeld
    ? sql`not exists (
        select 1 from held where held.webhook_id = w.webhook_id and held.call_id = d.call_id and held.id < d.id
      )`
    : sql`true`
  const lockUpToRoom = sql`limit coalesce(b.room, ${roomPerOther}::int) for update skip locked`
  const webhooks =
    onlyWebhooks === undefined
      ? sql`recursive ${webhooksWith(sql, "firsts", "attempts = 0")}, ${webhooksWith(sql, "retries", "attempts > 0")}`
      : sql`firsts (webhook_id, floor) as (select * from unnest(${[...onlyWebhooks.keys()]}::bigint[], ${[...onlyWebhooks.values()]}::bigint[]))`
  const retries =
    onlyWebhooks === undefined
      ? sql`
        union all
        select x.id, w.webhook_id, null::text, false, x.place
        from retries w left join busy b on b.webhook_id = w.webhook_id
        cross join lateral (
          select y.id, row_number() over (order by y.next_at) as place from (
            select d.id, d.next_at from webhook_deliveries d
            where d.webhook_id = w.webhook_id and d.attempts > 0 and d.next_at <= ${now} and ${free}
            order by d.next_at ${lockUpToRoom}
          ) y
        ) x`
      : sql``
  return sql`
    with ${webhooks},
    busy (webhook_id, room) as (
      select * from unnest(${[...roomByWebhook.keys()]}::bigint[], ${[...roomByWebhook.values()]}::int[])
    ),
    ${heldByOthers}
    due as materialized (
      select id, webhook_id, call_id, is_first from (
        select x.id, w.webhook_id, x.call_id, true as is_first, x.place
        from firsts w left join busy b on b.webhook_id = w.webhook_id
        cross join lateral (
          select y.id, y.call_id, row_number() over (order by y.id) as place from (
            select d.id, d.call_id from webhook_deliveries d
            where ${firstsBetween(sql, floor, highest)} and ${isDue} and ${free} and ${mayStart}
            order by ${sql.literal(indexOrder)} ${lockUpToRoom}
          ) y
        ) x
        ${retries}
      ) candidates order by place, random() limit ${room}
    ),
    earlier as materialized (
      select w.webhook_id, x.call_id, min(x.id) as id
      from firsts w
      join (
        select webhook_id, max(id) as last from due where is_first and call_id is not null group by webhook_id
      ) l on l.webhook_id = w.webhook_id
      cross join lateral (
        select d.id, d.call_id, d.leased_by from webhook_deliveries d
        where ${firstsBetween(sql, floorOfOthers, "l.last")} order by ${sql.literal(indexOrder)} offset 0
      ) x
      where x.leased_by is distinct from ${node} and x.call_id is not null and x.id not in (select id from due)
      group by w.webhook_id, x.call_id
    ),
    claimed as (
      update webhook_deliveries d set leased_by = ${node}
      where d.id = any(array(
        select due.id from due left join earlier e on e.webhook_id = due.webhook_id and e.call_id = due.call_id
        where not due.is_first or e.id is null or due.id < e.id
      ))
      returning d.*
    )
    select c.id, c.webhook_id, c.event_id, c.event, c.org_id, c.call_id, c.is_replay, c.is_resend, c.attempts,
      coalesce(h.url, '') as url, coalesce(h.secret, '') as secret, coalesce(h.is_active, false) as is_active,
      coalesce(${mayReceive(sql)}, false) as may_receive,
      coalesce(h.consecutive_failures, 0) as consecutive_failures, e.project_id, e.agent_id,
      coalesce(e.api_version, '') as api_version, coalesce(e.data::text, '') as data,
      to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timestamp
    from claimed c
    left join lateral (select * from webhooks where webhooks.id = c.webhook_id offset 0) h on true
    left join lateral (select * from events where events.seq = c.event_seq offset 0) e on true
    where ${asyncCommit}
    order by c.id`
}

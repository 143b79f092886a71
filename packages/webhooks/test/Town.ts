import { SqlClient } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { AgentId, type CallId, newAgentId, newCallId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { BigDecimal, ConfigProvider, Context, Effect, Layer, Option } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { type Letter, Receivers, type Reply, tooLate } from "../src/delivery/Receivers.ts"
import { FilterAgents } from "../src/FilterAgents.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import * as WebhooksSlice from "../src/WebhooksSlice.ts"

/** A letter that a receiver got, and when (milliseconds of the test's clock). */
export interface Got extends Letter {
  readonly at: number
  readonly event: string
  readonly event_id: string
  readonly data: { readonly [key: string]: unknown }
}

/** How a receiver answers: with a status, never, or when the test lets it. */
export type Manner = (letter: Got) => number | "never" | "held"

/** Receivers in memory, by url; 200 unless a manner is set. */
export class Post extends Context.Tag("test/Post")<
  Post,
  {
    readonly got: Array<Got>
    readonly manners: Map<string, Manner>
    /** Answers those that are held, in their order. */
    readonly held: Array<(status: number) => void>
  }
>() {
  static readonly layer: Layer.Layer<Post> = Layer.sync(Post, () => ({ got: [], manners: new Map(), held: [] }))
}

/** Delivers to {@link Post}. */
const PostReceivers = Layer.effect(
  Receivers,
  Effect.gen(function* () {
    const { got, held, manners } = yield* Post
    const clock = yield* Effect.clock
    return {
      post: (letter: Letter, done: (reply: Reply) => void) => {
        const { data, event, id } = JSON.parse(letter.body)
        const arrived: Got = { ...letter, at: clock.unsafeCurrentTimeMillis(), event, event_id: id, data }
        got.push(arrived)
        const status = manners.get(letter.url)?.(arrived) ?? 200
        if (status === "never") return () => done(tooLate)
        const answer = (status_code: number) =>
          done({ status_code, error: status_code >= 200 && status_code < 300 ? null : `status ${status_code}` })
        if (status === "held") {
          held.push(answer)
          return () => done(tooLate)
        }
        queueMicrotask(() => answer(status))
        return () => undefined
      }
    }
  })
)

const KnownAgents = Layer.effect(
  FilterAgents,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    find: ({ org_id, project_id }, id) =>
      sql<{ readonly public_id: string }>`
        select public_id from agents
        where id = ${id} and org_id = ${org_id} and (${project_id}::bigint is null or project_id = ${project_id})`.pipe(
        Effect.map((rows) => Option.map(Option.fromNullable(rows[0]), (row) => AgentId.make(row.public_id))),
        Effect.orDie
      )
  }))
)

/** Names are not looked up: every one is a public server. */
const AnyName = Layer.succeed(Resolver, {
  resolve: (_, done) => queueMicrotask(() => done(null, [{ address: "93.184.216.34", family: 4 }]))
})

/** All services of the slice on a given database, with receivers in memory; nothing is delivered yet. */
export const Offices = WebhooksSlice.services.pipe(
  Layer.provideMerge(
    Layer.mergeAll(WebhooksSlice.subscriptions, UrlSafety.layer, AuthSlice.services, WebhooksSlice.outbox)
  ),
  Layer.provideMerge(Layer.merge(PostReceivers, KnownAgents)),
  Layer.provideMerge(Post.layer),
  Layer.provide(Layer.merge(BillingSlice.balance, AnyName)),
  Layer.provide(
    Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_WEBHOOK_RETRY_SCHEDULE", "0s,60ms,60ms,60ms"]])))
  )
)

/** The same on a fresh database. */
export const Quiet = Layer.provideMerge(Offices, TestDatabase.layer)

/** The same with one node that delivers. */
export const Busy = DeliveryWorker.pipe(Layer.provideMerge(NodeLease.layer), Layer.provideMerge(Quiet))

/** An organization with a project and an agent. */
export const account = Effect.gen(function* () {
  const accounts = yield* Accounts
  const sql = yield* SqlClient.SqlClient
  const org = yield* accounts.createOrganization({
    name: "Acme",
    tier: "payg",
    balance_eur: BigDecimal.fromBigInt(0n)
  })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  const public_id = yield* newAgentId
  const [row] = yield* sql<{ readonly id: number }>`
    insert into agents ${sql.insert({
      org_id: org.id,
      project_id: project.id,
      public_id,
      name: "Reception",
      name_folded: "reception",
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      recording: false,
      end_call_enabled: false,
      server_url: "https://example.com",
      server_secret: "secret"
    })} returning id`
  const agent = { id: row?.id ?? Number.NaN, public_id, org_id: org.id, project_id: project.id }
  return { org_id: org.id, project_id: project.id, agent }
})
export type Account = Effect.Effect.Success<typeof account>

let addresses = 0

/** A url of its own, so that tests of one file do not see each other's letters. */
export const freshUrl = (): string => `https://receiver-${++addresses}.example.com/events`

/** A webhook of the organization, for all events unless some are named. */
export const webhookOf = (owner: Account, events: ReadonlyArray<string> = ["*"]) =>
  Effect.gen(function* () {
    const repo = yield* WebhooksRepo
    const url = freshUrl()
    const made = yield* repo.insert({
      org_id: owner.org_id,
      url,
      events,
      secret: `secret of ${url}`,
      filters: {},
      agent_public_id: null
    })
    return made
  })

/** An event of a call, told apart by its number. */
export const pressed = (owner: Account, call_id: CallId, action: string, timestamp: string): EventDraft => ({
  event: "call.dtmf.received",
  org_id: owner.org_id,
  project_id: owner.project_id,
  agent_id: owner.agent.public_id,
  call_id,
  timestamp,
  data: { ...eventSamples["call.dtmf.received"], call_id, agent_id: owner.agent.public_id, action }
})

/** Appends such events of one call, in one go. */
export const press = (owner: Account, actions: ReadonlyArray<string>, call?: CallId) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const clock = yield* Effect.clock
    const call_id = call ?? (yield* newCallId)
    const timestamp = new Date(clock.unsafeCurrentTimeMillis()).toISOString()
    return yield* outbox.appendAll(actions.map((action) => pressed(owner, call_id, action, timestamp)))
  })

/** Letters that a url got. */
export const lettersTo = (url: string) => Effect.map(Post, ({ got }) => got.filter((letter) => letter.url === url))

/** Looks again and again until what it sees is good, for 20 seconds. Attempts are 60 ms apart in these tests. */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, good: (seen: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let turn = 0; turn < 1_000; turn++) {
      const seen = yield* look
      if (good(seen)) return seen
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.dieMessage(`waited in vain; last seen ${JSON.stringify(yield* look)}`)
  })

/** Whether nothing is owed to anybody. */
export const empty = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`select 1 from webhook_deliveries limit 1`, (rows) => rows.length === 0)
)

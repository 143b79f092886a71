import type { SqlClient } from "@effect/sql/SqlClient"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { LedgerRepo } from "@svc/billing/LedgerRepo"
import { LiveCalls } from "@svc/call-engine/live/LiveCalls"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { DatabasePools } from "@svc/database/Database"
import { VectorsRepo } from "@svc/knowledge/vectors/VectorsRepo"
import { NumberOrdersRepo } from "@svc/numbers/carrier/NumberOrdersRepo"
import { PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { Providers } from "@svc/providers/Providers"
import { SmsRepo } from "@svc/sms/SmsRepo"
import { QueueRepo } from "@svc/webhooks/delivery/QueueRepo"
import { type Context, Effect, Layer, Metric } from "effect"
import { Metrics } from "./MetricsRoutes.ts"
import { processMetrics } from "./ProcessMetrics.ts"
import { type Family, familiesOf, histogram } from "./PrometheusText.ts"

/** The most deliveries that are counted: the table of a large backlog is not read whole. */
const maxCounted = 100_000
/** How long the figures of the database are kept, and how long one reading may take. */
const databaseTtl = "10 seconds"
const databaseTimeout = "2 seconds"

/** Bounds of {@link frames} in milliseconds. */
const latenessBounds = [1, 2, 5, 10, 20, 40, 64] as const

const gauge = (name: string, help: string, samples: Family["samples"]): Family => ({
  name,
  type: "gauge",
  help,
  samples
})

const calls = (live: Context.Tag.Service<LiveCalls>): ReadonlyArray<Family> => {
  const agents = new Set<number>()
  const count = { inbound: 0, outbound: 0 }
  for (const { agent, direction } of live.all()) {
    agents.add(agent)
    count[direction]++
  }
  return [
    gauge("svc_calls_live", "Calls that are live on this node", [
      { labels: { direction: "inbound" }, value: count.inbound },
      { labels: { direction: "outbound" }, value: count.outbound }
    ]),
    gauge("svc_agents_in_calls", "Agents with live calls on this node", [{ value: agents.size }]),
    gauge("svc_draining", "1 while the server stops and accepts no more calls", [{ value: live.isDraining() ? 1 : 0 }])
  ]
}

const frames = ({ wheel }: Context.Tag.Service<Ticker>): ReadonlyArray<Family> => {
  const { frames: count, totalMs } = wheel.lateness
  return [
    {
      name: "svc_frame_lateness_seconds",
      type: "histogram",
      help: "How long after their time outbound frames of 20 ms were sent",
      samples: histogram(
        latenessBounds.map((ms) => [ms / 1000, wheel.lateness.within(ms)] as const),
        { count, sum: totalMs / 1000 }
      )
    },
    {
      name: "svc_frame_slots_skipped_total",
      type: "counter",
      help: "Slots of 5 ms that were skipped because the event loop stalled for more than 100 ms",
      samples: [{ value: wheel.skipped }]
    }
  ]
}

const pool = (pools: Context.Tag.Service<typeof DatabasePools>): ReadonlyArray<Family> => {
  let max = 0
  let idle = 0
  let total = 0
  let waiting = 0
  for (const one of pools) {
    max += one.options.max
    idle += one.idleCount
    total += one.totalCount
    waiting += one.waitingCount
  }
  return [
    gauge("svc_database_connections", "Connections of the pool", [
      { labels: { state: "idle" }, value: idle },
      { labels: { state: "used" }, value: total - idle }
    ]),
    gauge("svc_database_connections_max", "Size of the pool, SVC_DATABASE_POOL", [{ value: max }]),
    gauge("svc_database_statements_waiting", "Statements that wait for a connection", [{ value: waiting }])
  ]
}

/** What is pending in the whole installation, the same on all nodes. */
const queues = Effect.fnUntraced(function* ({ embedding }: Pick<Context.Tag.Service<Providers>, "embedding">) {
  const deliveries = yield* Effect.flatMap(QueueRepo, ({ backlog }) => backlog(maxCounted))
  const orders = yield* Effect.flatMap(NumberOrdersRepo, ({ backlog }) => backlog)
  const messages = yield* Effect.flatMap(SmsRepo, ({ backlog }) => backlog)
  const vectors =
    embedding === undefined
      ? { bases: 0, oldest_seconds: 0 }
      : yield* Effect.flatMap(VectorsRepo, ({ backlog }) => backlog(embedding))
  const enterprise = yield* Effect.flatMap(AccountsRepo, ({ idsOfTier }) => idsOfTier("enterprise"))
  const paused = yield* Effect.flatMap(LedgerRepo, ({ countEmpty }) => countEmpty(enterprise))
  const sample = (queue: string, value: number) => ({ labels: { queue }, value })
  return [
    gauge("svc_queue_pending", `What waits in queues of the database; deliveries are counted up to ${maxCounted}`, [
      sample("webhook_deliveries", deliveries.pending),
      sample("number_orders", orders.pending),
      sample("text_messages", messages.pending),
      sample("knowledge_vectors", vectors.bases)
    ]),
    gauge("svc_queue_oldest_seconds", "For how long the oldest entry of a queue that is due has waited", [
      sample("webhook_deliveries", deliveries.oldest_seconds),
      sample("number_orders", orders.oldest_seconds),
      sample("text_messages", messages.oldest_seconds),
      sample("knowledge_vectors", vectors.oldest_seconds)
    ]),
    gauge("svc_organizations_paused", "Organizations without credits, whose calls are rejected", [{ value: paused }])
  ] satisfies ReadonlyArray<Family>
})

/** Whether the figures of the database could be read. */
const readable = (is: boolean): Family =>
  gauge("svc_database_up", "1 when the database answered the last query for metrics within 2 s", [
    { value: is ? 1 : 0 }
  ])

/** The metrics of a server. Read the list in docs/operations/monitoring.md. */
export const ServerMetrics: Layer.Layer<Metrics, never, LiveCalls | Ticker | Providers | SqlClient> = Layer.scoped(
  Metrics,
  Effect.gen(function* () {
    const live = yield* LiveCalls
    const ticker = yield* Ticker
    const pools = yield* DatabasePools
    const faults = yield* PluginFaults
    const providers = yield* Providers
    const { plugins } = providers
    const own = yield* processMetrics
    const context = yield* Effect.context<
      QueueRepo | NumberOrdersRepo | SmsRepo | VectorsRepo | AccountsRepo | LedgerRepo
    >()
    const database = yield* queues(providers).pipe(
      Effect.provide(context),
      Effect.disconnect,
      Effect.timeout(databaseTimeout),
      Effect.map((families) => [...families, readable(true)]),
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logWarning("The figures of the database could not be read for /metrics", cause), [
          readable(false)
        ])
      ),
      Effect.cachedWithTTL(databaseTtl)
    )
    const faultsOf = (): ReadonlyArray<Family> => {
      const counts = new Map(faults.counts().map((count) => [count.plugin, count]))
      const family = (name: string, help: string, of: "errors" | "stalls"): Family => ({
        name,
        type: "counter",
        help,
        samples: plugins.map((plugin) => ({
          labels: { plugin: plugin.name },
          value: counts.get(plugin.name)?.[of] ?? 0
        }))
      })
      return [
        family("svc_plugin_uncaught_errors_total", "Errors that a plugin threw outside of any call into it", "errors"),
        family("svc_plugin_stalls_total", "How often a plugin held the thread of all calls for too long", "stalls")
      ]
    }
    return {
      read: Effect.gen(function* () {
        const stored = yield* database
        const counted = familiesOf(yield* Metric.snapshot)
        return [...counted, ...calls(live), ...frames(ticker), ...pool(pools), ...faultsOf(), ...stored, ...own.read()]
      })
    }
  })
).pipe(
  Layer.provide(
    Layer.mergeAll(
      QueueRepo.layer,
      NumberOrdersRepo.layer,
      SmsRepo.layer,
      VectorsRepo.layer,
      AccountsRepo.layer,
      LedgerRepo.layer
    )
  )
)

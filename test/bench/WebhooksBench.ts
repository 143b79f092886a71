import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import { ConfigProvider, Console, Effect, Logger, LogLevel } from "effect"
import { BenchFailed, start } from "./Child.ts"
import { table } from "./Table.ts"
import { type Line, quantile } from "./Verdict.ts"
import { seed } from "./WebhookHistory.ts"
import type { GraphileRequests, ReceiverFigures, ReceiverRequests } from "./WebhookRequests.ts"
import { bare, besideHangingReceiver, graphile, paced, saturated, services, subscribe } from "./WebhookRun.ts"

/**
 * `npm run bench:webhooks`: events from append to 2xx at a receiver on this machine, beside a bare loop of POSTs and
 * the same deliveries by graphile-worker in the same run. The exit code is 0 unless the bench could not run.
 */

const usage = `npm run bench:webhooks -- [options]
  --rounds N      rounds of which the medians are shown (3)
  --seconds N     length of each part of a round (5)
  --deliveries N  deliveries that the database has in its history before (0)
  --hanging       only: nine receivers at 20 events/s each, alone and beside one that accepts and never answers`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        rounds: { type: "string", default: "3" },
        seconds: { type: "string", default: "5" },
        deliveries: { type: "string", default: "0" },
        hanging: { type: "boolean", default: false }
      }
    })
    const count = (name: "rounds" | "seconds" | "deliveries", least = 1) => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < least) throw new Error(`--${name} is not a whole number from ${least} up`)
      return value
    }
    return {
      rounds: count("rounds"),
      seconds: count("seconds"),
      deliveries: count("deliveries", 0),
      hanging: values.hanging
    }
  },
  catch: (error) => new BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

interface Round {
  readonly bare: ReceiverFigures
  readonly graphile: ReceiverFigures
  readonly saturated: ReceiverFigures
  readonly paced: ReceiverFigures
}

const linesOf = (rounds: ReadonlyArray<Round>): ReadonlyArray<Line> => {
  const median = (of: (round: Round) => number) => quantile(rounds.map(of), 0.5)
  return [
    { what: "bare undici POSTs per second", figure: Math.round(median((r) => r.bare.perSecond)), unit: "" },
    { what: "events delivered per second", figure: Math.round(median((r) => r.saturated.perSecond)), unit: "" },
    {
      what: "  relative to bare POSTs",
      figure: median((r) => (r.saturated.perSecond / r.bare.perSecond) * 100),
      unit: "%",
      // PostgreSQL alone takes 60 of the 145 µs that half of the bare loop would allow on two shared cores.
      budget: { must: 25, goal: 40, atLeast: true }
    },
    {
      what: "the same by graphile-worker per second",
      figure: Math.round(median((r) => r.graphile.perSecond)),
      unit: ""
    },
    {
      what: "  events delivered relative to it",
      figure: median((r) => (r.saturated.perSecond / r.graphile.perSecond) * 100),
      unit: "%",
      budget: { must: 100, goal: 150, atLeast: true }
    },
    { what: "append → delivered at saturation p50", figure: median((r) => r.saturated.p50), unit: "ms" },
    { what: "append → delivered at saturation p99", figure: median((r) => r.saturated.p99), unit: "ms" },
    { what: "append → delivered at 100/s p50", figure: median((r) => r.paced.p50), unit: "ms" },
    {
      what: "append → delivered at 100/s p99",
      figure: median((r) => r.paced.p99),
      unit: "ms",
      budget: { must: 50, goal: 15 }
    }
  ]
}

interface HangingRound {
  readonly alone: ReceiverFigures
  readonly beside: ReceiverFigures
}

const hangingLinesOf = (rounds: ReadonlyArray<HangingRound>): ReadonlyArray<Line> => {
  const median = (of: (round: HangingRound) => number) => quantile(rounds.map(of), 0.5)
  return [
    { what: "append → delivered, nine receivers p50", figure: median((r) => r.alone.p50), unit: "ms" },
    { what: "  beside one that hangs p50", figure: median((r) => r.beside.p50), unit: "ms" },
    { what: "append → delivered, nine receivers p99", figure: median((r) => r.alone.p99), unit: "ms" },
    { what: "  beside one that hangs p99", figure: median((r) => r.beside.p99), unit: "ms" },
    {
      what: "  relative to nine alone p99",
      figure: median((r) => (r.beside.p99 / r.alone.p99) * 100),
      unit: "%",
      budget: { must: 200, goal: 120 }
    }
  ]
}

const program = Effect.gen(function* () {
  const { deliveries, hanging, rounds, seconds } = yield* options
  const receiver = yield* start<ReceiverRequests>("./ReceiverProcess.ts")
  const url = yield* receiver.request("address")
  const database = yield* Effect.mapError(
    EmbeddedPostgres.start({
      dir: join(tmpdir(), `svc-bench-webhooks-${randomBytes(6).toString("hex")}`),
      removeAtEnd: true
    }),
    ({ message }) => new BenchFailed({ message })
  )
  const config = ConfigProvider.fromMap(
    new Map([
      ["SVC_DATABASE_URL", database.url],
      ["SVC_ALLOW_PRIVATE_URLS", "true"]
    ])
  )
  const measured = Effect.gen(function* () {
    const { org_id, webhook_id } = yield* subscribe(url)
    const history = deliveries === 0 ? [] : yield* seed(org_id, webhook_id, deliveries)
    const worker = yield* start<GraphileRequests>("./GraphileProcess.ts", { env: { SVC_DATABASE_URL: database.url } })
    // Warm-up of code and database pages.
    yield* bare(receiver, url, 1)
    yield* saturated(receiver, org_id, 2)
    if (!hanging) yield* graphile(receiver, worker, url, 2)
    if (hanging)
      return hangingLinesOf(yield* Effect.replicateEffect(besideHangingReceiver(receiver, url, 20, seconds), rounds))
    const round = Effect.gen(function* () {
      return {
        bare: yield* bare(receiver, url, seconds),
        graphile: yield* graphile(receiver, worker, url, seconds),
        saturated: yield* saturated(receiver, org_id, seconds),
        paced: yield* paced(receiver, org_id, 100, seconds)
      }
    })
    const lines = linesOf(yield* Effect.replicateEffect(round, rounds))
    return [...lines, ...history]
  })
  const lines = yield* Effect.provide(measured, services(config))
  const title = `Events to ${hanging ? "nine webhooks" : "one webhook"}, medians of ${rounds} rounds of ${seconds} s${deliveries === 0 ? "" : `, after ${deliveries} deliveries`}`
  yield* Console.log(table(title, lines))
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import { Console, Effect, Logger, LogLevel } from "effect"
import type { ApiServerRequests } from "./ApiRequests.ts"
import type { ChatBurst, ChatBurstFigures, ChatLoadRequests, UpstreamRequests } from "./ChatRequests.ts"
import * as Child from "./Child.ts"
import type { ProcessFigures } from "./ProcessRequests.ts"
import { serverFlags, serverSettings } from "./Run.ts"
import { table } from "./Table.ts"
import { type Line, quantile, verdictOf } from "./Verdict.ts"

/**
 * `npm run bench:chat`: the time to the first token of a streamed completion through Svc, of its model's server alone,
 * and through a process that only hands requests and answers on, all asked in turn in one run. What is judged is the
 * first rate, when the server has answered some thousand completions and V8 has compiled what they run; the same rate
 * right after the start stands beside it. The exit code is 1 when the budget is missed, or the bench could not run.
 */

const usage = `npm run bench:chat -- [options]
  --seconds N      length of one round of a rate (20)
  --rounds N       rounds of each rate (5); a figure is their median, those of the rounds stand beside it
  --rates N,…      completions a second, of each (20,50,100); 20 are what two organizations of the tier scale may have
  --warm-up N      seconds at the highest rate before the rounds (30); 0 skips it and the round before it
  --saturation N   completions at once that saturate the server (200); 0 skips this part
  --profile DIR    writes a CPU profile of the server there`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "20" },
        rounds: { type: "string", default: "5" },
        rates: { type: "string", default: "20,50,100" },
        "warm-up": { type: "string", default: "30" },
        saturation: { type: "string", default: "200" },
        profile: { type: "string" }
      }
    })
    const count = (name: string, text: string, least = 1) => {
      const value = Number(text)
      if (!Number.isInteger(value) || value < least) throw new Error(`--${name}: ${text} is no number from ${least} up`)
      return value
    }
    return {
      seconds: count("seconds", values.seconds),
      rounds: count("rounds", values.rounds),
      rates: values.rates.split(",").map((rate) => count("rates", rate)),
      warmUp: count("warm-up", values["warm-up"], 0),
      saturation: count("saturation", values.saturation, 0),
      profile: values.profile
    }
  },
  catch: (error) => new Child.BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

/** What one round of a rate showed. */
interface RoundFigures {
  readonly alone: ChatBurstFigures
  readonly proxied: ChatBurstFigures
  readonly through: ChatBurstFigures
  readonly server: ProcessFigures
}

const addedBy = (by: "proxied" | "through", share: number) => (round: RoundFigures) =>
  quantile(round[by].added, share) - quantile(round.alone.added, share)

type Figure = readonly [what: string, unit: Line["unit"], of: (round: RoundFigures) => number]

const addedP50: Figure = ["added by Svc p50", "ms", addedBy("through", 0.5)]
const addedP99: Figure = ["added by Svc p99", "ms", addedBy("through", 0.99)]
const cpu: Figure = [
  "CPU of the server per completion",
  "ms",
  ({ server, through }) => server.cpuMs / through.completions
]
const figuresOfRate: ReadonlyArray<Figure> = [
  ["upstream alone p50", "ms", ({ alone }) => quantile(alone.added, 0.5)],
  ["upstream alone p99", "ms", ({ alone }) => quantile(alone.added, 0.99)],
  ["through Svc p50", "ms", ({ through }) => quantile(through.added, 0.5)],
  ["through Svc p99", "ms", ({ through }) => quantile(through.added, 0.99)],
  ["through Svc max", "ms", ({ through }) => Math.max(...through.added)],
  ["added by a bare proxy p50", "ms", addedBy("proxied", 0.5)],
  ["added by a bare proxy p99", "ms", addedBy("proxied", 0.99)],
  addedP50,
  addedP99,
  ["completions through Svc", "", ({ through }) => through.completions],
  cpu,
  ["server waiting for a core used by other programs", "%", ({ server }) => (server.waitedMs / server.wallMs) * 100]
]

/** The figures of a load: medians of its rounds, so that one stall of the machine does not decide. */
const linesOf = (
  load: string,
  rounds: ReadonlyArray<RoundFigures>,
  figures: ReadonlyArray<Figure>,
  isJudged = false
): ReadonlyArray<Line> =>
  figures.map((figure) => {
    const [what, unit, of] = figure
    const others = rounds.map(of)
    const line = { what: `${load}: ${what}`, figure: quantile(others, 0.5), others, unit }
    return isJudged && figure === addedP99 ? { ...line, budget: { must: 5, goal: 2 } } : line
  })

/** Slots for completions that run at once, far above what a run needs. */
const slots = 2000

const program = Effect.gen(function* () {
  const { profile, rates, rounds, saturation, seconds, warmUp } = yield* options
  const key = `svc_live_${randomBytes(24).toString("hex")}`
  yield* Console.error("starting a database, a model's server, Svc and the load …")
  const database = yield* Effect.mapError(
    EmbeddedPostgres.start({
      dir: join(tmpdir(), `svc-bench-chat-${randomBytes(6).toString("hex")}`),
      removeAtEnd: true
    }),
    ({ message }) => new Child.BenchFailed({ message })
  )
  const load = yield* Child.start<ChatLoadRequests>("ChatLoadProcess.ts", { built: true })
  const upstream = yield* Child.start<UpstreamRequests>("ChatUpstreamProcess.ts", { built: true })
  const bare = yield* upstream.request("address")
  const proxy = yield* Child.start<UpstreamRequests>("ChatProxyProcess.ts", {
    built: true,
    env: { SVC_BENCH_URL: bare.url }
  })
  const limit = yield* proxy.request("address")
  const svc = yield* Child.start<ApiServerRequests>("ApiServerProcess.ts", {
    built: true,
    flags: [...serverFlags, ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`])],
    env: {
      ...serverSettings(key),
      NODE_ENV: "production",
      SVC_DATABASE_URL: database.url,
      SVC_PLUGINS: `${fileURLToPath(new URL("ChatModelPlugin.ts", import.meta.url))},@svc/plugin-simulated`,
      SVC_BENCH_URL: bare.url,
      SVC_BOOTSTRAP_TIER: "enterprise",
      SVC_BOOTSTRAP_CREDITS: "100",
      SVC_LIMIT_CHAT_CONCURRENT_ENTERPRISE: String(slots)
    }
  })
  const { url } = yield* svc.request("address")
  const burst = (urls: ReadonlyArray<string>, amount: ChatBurst["load"], ms: number) =>
    Effect.gen(function* () {
      const figures = yield* load.request("send", { urls, key, load: amount, ms })
      for (const [index, { failures }] of figures.entries()) {
        if (failures[0] === undefined) continue
        return yield* new Child.BenchFailed({ message: `${urls[index]} did not complete: ${failures[0]}` })
      }
      return figures
    })
  const urls = [bare.url, limit.url, url]
  const round = (rate: number) =>
    Effect.gen(function* () {
      yield* svc.request("measure")
      const [alone, proxied, through] = yield* burst(urls, { rate }, seconds * 1000)
      const server = yield* svc.request("figures")
      if (alone === undefined || proxied === undefined || through === undefined)
        return yield* new Child.BenchFailed({ message: "no figures" })
      return { alone, proxied, through, server }
    })
  const [first = 1] = rates
  // Connections are opened, and modules loaded.
  yield* burst(urls, { rate: first }, 1000)
  const lines: Array<Line> = []
  if (warmUp > 0) {
    yield* Console.error(`measuring ${first} a second after the start …`)
    const figures = [yield* round(first)]
    lines.push(...linesOf(`${first} a second after the start`, figures, [addedP50, addedP99, cpu]))
    yield* Console.error("warming up …")
    yield* burst(urls, { rate: Math.max(...rates) }, warmUp * 1000)
  }
  for (const [index, rate] of rates.entries()) {
    yield* Console.error(`measuring ${rate} a second …`)
    const figures = yield* Effect.replicateEffect(round(rate), rounds)
    lines.push(...linesOf(`${rate} a second`, figures, figuresOfRate, index === 0))
  }
  if (saturation > 0) {
    yield* Console.error("saturating …")
    const most = { connections: saturation }
    yield* burst([url], most, 2000)
    yield* svc.request("measure")
    const [full] = yield* burst([url], most, 5000)
    const { cpuMs, wallMs } = yield* svc.request("figures")
    const reached = full ?? { completions: 0, added: [] }
    lines.push(
      { what: `${saturation} at once: completions a second`, figure: reached.completions / (wallMs / 1000), unit: "" },
      { what: `${saturation} at once: through Svc p50`, figure: quantile(reached.added, 0.5), unit: "ms" },
      { what: `${saturation} at once: through Svc p99`, figure: quantile(reached.added, 0.99), unit: "ms" },
      { what: `${saturation} at once: CPU of the server`, figure: (cpuMs / wallMs) * 100, unit: "%" }
    )
  }
  yield* Console.log(
    table("Time to the first token of a streamed completion, less the time for which the upstream held it", lines, [
      "median",
      ...Array.from({ length: rounds }, (_, round) => `round ${round + 1}`)
    ])
  )
  if (lines.some((line) => verdictOf(line) === "missed")) process.exitCode = 1
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

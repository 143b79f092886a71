import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import { Console, Effect, Logger, LogLevel } from "effect"
import type { ApiServerRequests } from "./ApiRequests.ts"
import type { ChatLoadRequests, UpstreamRequests } from "./ChatRequests.ts"
import * as Child from "./Child.ts"
import { serverSettings } from "./Run.ts"
import { table } from "./Table.ts"
import { type Line, quantile, verdictOf } from "./Verdict.ts"

/**
 * `npm run bench:chat`: the time to the first token of a streamed completion beyond that of the model's server, through
 * Svc and without it. The exit code is 1 when the budget is missed, or the bench could not run.
 */

const usage = `npm run bench:chat -- [options]
  --rounds N       rounds of which all figures count (3)
  --seconds N      length of one burst (8)
  --connections N  completions at once (20)
  --profile DIR    writes a CPU profile of the server there`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        rounds: { type: "string", default: "3" },
        seconds: { type: "string", default: "8" },
        connections: { type: "string", default: "20" },
        profile: { type: "string" }
      }
    })
    const count = (name: "rounds" | "seconds" | "connections") => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number above 0`)
      return value
    }
    return {
      rounds: count("rounds"),
      seconds: count("seconds"),
      connections: count("connections"),
      profile: values.profile
    }
  },
  catch: (error) => new Child.BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const program = Effect.gen(function* () {
  const { connections, profile, rounds, seconds } = yield* options
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
  const svc = yield* Child.start<ApiServerRequests>("ApiServerProcess.ts", {
    built: true,
    flags: profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`],
    env: {
      ...serverSettings(key),
      NODE_ENV: "production",
      SVC_DATABASE_URL: database.url,
      SVC_PLUGINS: `${fileURLToPath(new URL("ChatModelPlugin.ts", import.meta.url))},@svc/plugin-simulated`,
      SVC_BENCH_URL: bare.url,
      SVC_BOOTSTRAP_TIER: "enterprise",
      SVC_BOOTSTRAP_CREDITS: "100",
      SVC_LIMIT_CHAT_CONCURRENT_ENTERPRISE: String(2 * connections)
    }
  })
  const { url } = yield* svc.request("address")
  const burst = (origin: string, ms: number) =>
    Effect.gen(function* () {
      const { added, completions, failures } = yield* load.request("send", { url: origin, key, connections, ms })
      if (failures[0] !== undefined) {
        return yield* new Child.BenchFailed({ message: `${origin} did not complete: ${failures[0]}` })
      }
      return { added, completions }
    })
  yield* Console.error("warming up …")
  yield* burst(bare.url, 2000)
  yield* burst(url, 4000)
  yield* svc.request("measure")
  const [through, without]: [Array<number>, Array<number>] = [[], []]
  let completions = 0
  for (let round = 1; round <= rounds; round++) {
    yield* Console.error(`round ${round} of ${rounds} …`)
    without.push(...(yield* burst(bare.url, seconds * 1000)).added)
    const measured = yield* burst(url, seconds * 1000)
    through.push(...measured.added)
    completions += measured.completions
  }
  const { waitedMs, wallMs } = yield* svc.request("figures")
  const lines: ReadonlyArray<Line> = [
    { what: "upstream alone p50", figure: quantile(without, 0.5), unit: "ms" },
    { what: "upstream alone p99", figure: quantile(without, 0.99), unit: "ms" },
    { what: "through Svc p50", figure: quantile(through, 0.5), unit: "ms" },
    { what: "through Svc p99", figure: quantile(through, 0.99), unit: "ms", budget: { must: 5, goal: 2 } },
    { what: "through Svc max", figure: Math.max(...through), unit: "ms" },
    { what: "completions through Svc", figure: completions, unit: "" },
    {
      what: "server waiting for a core used by other programs",
      figure: (waitedMs / wallMs) * 100,
      unit: "%"
    }
  ]
  yield* Console.log(
    table(
      `Time to the first token of a streamed completion, less the time for which the upstream held it; ${connections} at once`,
      lines
    )
  )
  if (lines.some((line) => verdictOf(line) === "missed")) process.exitCode = 1
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

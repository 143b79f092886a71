import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Logger, LogLevel } from "effect"
import * as ApiCalls from "./ApiCalls.ts"
import { type ApiFigures, type Round, run } from "./ApiRun.ts"
import { BenchFailed } from "./Child.ts"
import { table } from "./Table.ts"
import { type Line, quantile } from "./Verdict.ts"

/**
 * `npm run bench:api`: the list of agents, with authentication, rate limit and database, beside the same on Fastify and
 * `pg`; then usage, summary and lists with many calls. The exit code is 0 unless the bench could not run.
 */

const usage = `npm run bench:api -- [options]
  --rounds N       rounds of which the medians are shown (5)
  --seconds N      length of one burst to one server (4)
  --connections N  requests in flight at once (20)
  --calls N        calls of the organization for the list and usage queries (1000000); 0 skips them
  --profile DIR    writes CPU profiles of both servers, of the whole run
  --json           prints JSON`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        rounds: { type: "string", default: "5" },
        seconds: { type: "string", default: "4" },
        connections: { type: "string", default: "20" },
        calls: { type: "string", default: "1000000" },
        profile: { type: "string" },
        json: { type: "boolean", default: false }
      }
    })
    const count = (name: "rounds" | "seconds" | "connections" | "calls", least = 1) => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < least) throw new Error(`--${name} is not a whole number from ${least} up`)
      return value
    }
    return {
      rounds: count("rounds"),
      seconds: count("seconds"),
      connections: count("connections"),
      calls: count("calls", 0),
      profile: values.profile,
      json: values.json
    }
  },
  catch: (error) => new BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const median = (rounds: ReadonlyArray<Round>, of: (round: Round) => number): number => quantile(rounds.map(of), 0.5)

/** The medians, and the medians of the ratios of each round's pair. */
const linesOf = ({ fastify, svc }: ApiFigures): ReadonlyArray<Line> => {
  const ratio = (of: (one: Round, other: Round) => number): number =>
    quantile(
      svc.flatMap((one, index) => {
        const other = fastify[index]
        return other === undefined ? [] : [of(one, other)]
      }),
      0.5
    )
  const of = (name: string, rounds: ReadonlyArray<Round>): ReadonlyArray<Line> => [
    { what: `${name}: requests per second`, figure: median(rounds, ({ perSecond }) => perSecond), unit: "" },
    { what: `${name}: CPU per request`, figure: median(rounds, ({ cpu }) => cpu), unit: "ms" },
    { what: `${name}: time to answer p50`, figure: median(rounds, ({ p50 }) => p50), unit: "ms" },
    { what: `${name}: time to answer p99`, figure: median(rounds, ({ p99 }) => p99), unit: "ms" },
    {
      what: `${name}: answers other than 200`,
      figure: rounds.reduce((sum, { failures }) => sum + failures, 0),
      unit: ""
    }
  ]
  return [
    ...of("Svc", svc),
    ...of("Fastify", fastify),
    {
      what: "throughput relative to Fastify",
      figure: ratio((one, other) => (one.perSecond / other.perSecond) * 100),
      unit: "%",
      budget: { must: 60, goal: 80, atLeast: true }
    },
    {
      what: "requests per CPU second relative to Fastify",
      figure: ratio((one, other) => (other.cpu / one.cpu) * 100),
      unit: "%"
    }
  ]
}

const program = Effect.gen(function* () {
  const { calls, connections, json, profile, rounds, seconds } = yield* options
  const figures = yield* run({ calls, connections, profile, rounds, seconds })
  const lines = linesOf(figures)
  const title = `GET /v1/agents?limit=20 with authentication, rate limit and database; medians of ${rounds} rounds of ${seconds} s, ${connections} at once`
  const callLines = ApiCalls.linesOf(figures.calls)
  if (json) return yield* Console.log(JSON.stringify({ ...figures, lines, callLines }))
  yield* Console.log(table(title, lines))
  if (calls === 0) return
  const callsTitle = `With ${calls} calls of one organization over a year: ${seconds} s of each, one request at a time`
  yield* Console.log(`\n${table(callsTitle, callLines)}`)
})

program.pipe(
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import { BenchFailed } from "./Child.ts"
import { run } from "./Run.ts"
import { table } from "./Table.ts"
import { type Line, linesOf, medianOf, meetsBudgets, verdictOf } from "./Verdict.ts"

/**
 * `npm run bench:calls`: N simulated calls at once in one server process, against the budgets; `npm run bench:sip`: the same
 * over SIP and RTP. The exit code
 * is 0 unless the bench could not run: figures of a busy machine are no failure.
 */

const usage = `npm run bench:calls -- [options]
  --calls N      calls at once (200, over SIP 300)
  --seconds N    length of the measurement (20)
  --runs N       runs of which the medians are shown (1)
  --find         100, 200, … 500 calls, until a must is missed
  --continuous   phones send silence too, all the time
  --browser      the callers are web pages: browser calls in place of phones
  --sip          the callers are SIP phones, which send a packet every 20 ms
  --record       the calls are recorded
  --otlp         traces, metrics and logs are exported to a collector
  --profile DIR  writes a CPU profile of the server
  --json         prints JSON`

const steps = [100, 200, 300, 400, 500]
const sipSteps = [100, 200, 300, 400, 500, 600, 700, 800]

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        calls: { type: "string" },
        seconds: { type: "string", default: "20" },
        runs: { type: "string", default: "1" },
        find: { type: "boolean", default: false },
        continuous: { type: "boolean", default: false },
        browser: { type: "boolean", default: false },
        sip: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
        otlp: { type: "boolean", default: false },
        profile: { type: "string" },
        json: { type: "boolean", default: false }
      }
    })
    const count = (name: "calls" | "seconds" | "runs") => {
      const value = Number(values[name] ?? (values.sip ? 300 : 200))
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number above 0`)
      return value
    }
    return { ...values, calls: count("calls"), seconds: count("seconds"), runs: count("runs") }
  },
  catch: (error) => new BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const program = Effect.gen(function* () {
  const { browser, sip, calls, continuous, find, json, otlp, profile, record, runs, seconds } = yield* options
  const network = browser ? "browser" : sip ? "sip" : "simulated"
  const print = (count: number, lines: ReadonlyArray<Line>) =>
    Console.log(
      json
        ? JSON.stringify({
            calls: count,
            seconds,
            runs,
            otlp,
            lines: lines.map((line) => ({ ...line, verdict: verdictOf(line) ?? null }))
          })
        : `${table(`${count} ${network === "sip" ? "SIP" : network} calls at once${otlp ? ", exported by OTLP" : ""}, ${seconds} s, ${runs === 1 ? "one run" : `medians of ${runs} runs`}, Node ${process.versions.node}`, lines)}\n`
    )
  const measure = (count: number) =>
    Effect.gen(function* () {
      const all = yield* Effect.replicateEffect(
        run({ network, calls: count, seconds, continuous, otlp, record, profile }),
        runs
      )
      const lines = medianOf(all.map(linesOf))
      yield* print(count, lines)
      return meetsBudgets(lines, count)
    })
  if (!find) {
    yield* measure(calls)
    return
  }
  let held = 0
  for (const count of sip ? sipSteps : steps) {
    if (!(yield* measure(count))) break
    held = count
  }
  yield* json ? Console.log(JSON.stringify({ held })) : Console.log(`All budgets met with ${held} calls at once`)
})

program.pipe(
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

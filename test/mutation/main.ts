import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Clock, Console, Data, Effect } from "effect"
import { equivalents } from "./Equivalents.ts"
import { type Order, type Plan, type Progress, planOf, root } from "./Plan.ts"
import { targets } from "./Targets.ts"

const usage = `npm run test:mutation -- [options]
  --target NAME   one of ${targets.map(({ name }) => name).join(", ")} (all)
  --file TEXT     only mutants of files whose path contains it
  --sample N      only so many of the mutants, drawn by the seed
  --seed N        (1)
  --json FILE     also writes the report there`

class MutationRunFailed extends Data.TaggedError("MutationRunFailed")<{ readonly message: string }> {}

type Result = "killed" | "timeout" | "survived" | "uncovered"

interface Report {
  readonly target: string
  readonly score: number
  readonly threshold: number
  readonly counts: Readonly<Record<Result | "equivalent", number>>
  /** Entries of the list of equivalent mutants that no longer match a mutant. */
  readonly stale: ReadonlyArray<string>
  readonly survivors: ReadonlyArray<{ readonly at: string; readonly change: string; readonly result: Result }>
}

const options = Effect.try({
  try: () => {
    const text = { type: "string" } as const
    const { values } = parseArgs({
      options: { target: text, file: text, sample: text, seed: { ...text, default: "1" }, json: text }
    })
    const count = (name: "sample" | "seed") => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number from 1 up`)
      return value
    }
    return {
      names: values.target === undefined ? targets.map(({ name }) => name) : [values.target],
      file: values.file ?? "",
      sample: values.sample === undefined ? Number.POSITIVE_INFINITY : count("sample"),
      seed: count("seed"),
      json: values.json
    }
  },
  catch: (error) => new MutationRunFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

/** The first `size` in an order that depends on the seed alone (mulberry32), by number. */
const sampled = (numbers: ReadonlyArray<number>, size: number, seed: number): ReadonlyArray<number> => {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  return numbers
    .map((number) => ({ number, place: random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, size)
    .map(({ number }) => number)
    .sort((a, b) => a - b)
}

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs")

const start = (order: Order) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [vitest, "run", "-c", "vitest.mutation.config.ts"], {
        cwd: root,
        // A group of its own, so that a test that never returns ends with all its processes.
        detached: true,
        env: { ...process.env, SVC_MUTATION: JSON.stringify(order) }
      })
      let output = ""
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text) => (output = (output + text).slice(-5_000)))
      return { child, output: () => output }
    }),
    ({ child }) => Effect.sync(() => endGroup(child))
  )

const endGroup = ({ exitCode, pid, signalCode }: ChildProcess) => {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL")
}

/** Runs mutants in one process after another: a process without progress for too long is replaced. */
const run = (plan: Plan, numbers: ReadonlyArray<number>, folder: string) =>
  Effect.gen(function* () {
    const results = new Map<number, Result>()
    const progressFile = join(folder, "progress")
    while (results.size < numbers.length) {
      const left = numbers.filter((number) => !results.has(number))
      writeFileSync(progressFile, "")
      const order = { target: plan.target.name, numbers: left, coverageFile: join(folder, "coverage"), progressFile }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { child, output } = yield* start(order)
          let read = 0
          let wait = 180_000
          let current: number | undefined
          let since = yield* Clock.currentTimeMillis
          while (true) {
            const isOver = child.exitCode !== null || child.signalCode !== null
            const lines = readFileSync(progressFile, "utf8").split("\n").slice(0, -1)
            const fresh: ReadonlyArray<Progress> = lines.slice(read).map((line) => JSON.parse(line))
            read = lines.length
            const now = yield* Clock.currentTimeMillis
            if (fresh.length > 0) since = now
            for (const progress of fresh) {
              if (progress.tag === "failed") return yield* new MutationRunFailed({ message: progress.message })
              current = progress.number
              if (progress.tag === "started") wait = progress.wait
              else {
                results.set(progress.number, progress.result)
                const mutant = plan.mutants[progress.number]
                if (progress.result !== "killed" && mutant !== undefined) {
                  yield* Console.error(`${progress.result}: ${mutant.file}:${mutant.line}  ${mutant.change}`)
                }
              }
            }
            const done = results.size
            if (fresh.some(({ tag }) => tag === "finished") && done % 100 === 0) {
              yield* Console.error(`${plan.target.name}: ${done} of ${numbers.length}`)
            }
            if (done === numbers.length) return
            if (isOver || now - since > wait) {
              if (current === undefined || results.has(current)) {
                return yield* new MutationRunFailed({ message: `Vitest ended early or hangs.\n${output()}` })
              }
              results.set(current, "timeout")
              return
            }
            yield* Effect.sleep("200 millis")
          }
        })
      )
    }
    return results
  })

const reportOf = (plan: Plan, results: ReadonlyMap<number, Result>, isWhole: boolean): Report => {
  const counts = { killed: 0, timeout: 0, survived: 0, uncovered: 0, equivalent: 0 }
  const survivors: Array<Report["survivors"][number]> = []
  const used = new Set<string>()
  for (const [number, result] of [...results].sort(([a], [b]) => a - b)) {
    const mutant = plan.mutants[number]
    if (mutant === undefined) continue
    const known = equivalents.find(({ change, file }) => file === mutant.file && change === mutant.change)
    if (known !== undefined) used.add(`${known.file}: ${known.change}`)
    const isKilled = result === "killed" || result === "timeout"
    counts[known !== undefined && !isKilled ? "equivalent" : result] += 1
    if (known === undefined && !isKilled) {
      survivors.push({ at: `${mutant.file}:${mutant.line}`, change: mutant.change, result })
    }
  }
  const { equivalent, killed, survived, timeout, uncovered } = counts
  const judged = killed + timeout + survived + uncovered
  const files = new Set(plan.code.keys())
  const stale = equivalents.filter(({ file }) => isWhole && files.has(file)).map((one) => `${one.file}: ${one.change}`)
  return {
    target: plan.target.name,
    score: judged === 0 ? 100 : Math.round(((killed + timeout) / judged) * 1_000) / 10,
    threshold: plan.target.threshold,
    counts: { killed, timeout, survived, uncovered, equivalent },
    stale: stale.filter((entry) => !used.has(entry)),
    survivors
  }
}

const textOf = ({ counts, score, stale, survivors, target, threshold }: Report): string =>
  [
    ...survivors.map(
      ({ at, change, result }) => `${at}  ${change}${result === "uncovered" ? "  (no test runs it)" : ""}`
    ),
    ...stale.map((entry) => `Equivalents.ts has an entry without a mutant: ${entry}`),
    `${target}: ${score} % of mutants killed (threshold ${threshold} %): ${counts.killed} killed, ${counts.timeout} timed out, ` +
      `${counts.survived} survived, ${counts.uncovered} not run by a test, ${counts.equivalent} equivalent`
  ].join("\n")

const program = Effect.gen(function* () {
  const { file, json, names, sample, seed } = yield* options
  const reports: Array<Report> = []
  for (const name of names) {
    const plan = yield* Effect.try({
      try: () => planOf(name),
      catch: (error) => new MutationRunFailed({ message: String(error) })
    })
    const all = [...plan.mutants.keys()].filter((number) => plan.mutants[number]?.file.includes(file))
    const numbers = sampled(all, sample, seed)
    yield* Console.error(`${name}: ${numbers.length} of ${plan.mutants.length} mutants`)
    const folder = mkdtempSync(join(tmpdir(), "svc-mutation-"))
    const results = yield* run(plan, numbers, folder).pipe(
      Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true })))
    )
    const report = reportOf(plan, results, numbers.length === plan.mutants.length)
    reports.push(report)
    yield* Console.log(textOf(report))
  }
  if (json !== undefined) {
    if (!existsSync(dirname(json))) mkdirSync(dirname(json), { recursive: true })
    writeFileSync(json, `${JSON.stringify(reports, undefined, 2)}\n`)
  }
  if (reports.some(({ score, threshold }) => score < threshold)) {
    return yield* new MutationRunFailed({ message: "Too many mutants survived" })
  }
})

NodeRuntime.runMain(
  program.pipe(
    Effect.catchAll(({ message }) => Console.error(message).pipe(Effect.zipRight(Effect.sync(() => process.exit(1)))))
  )
)

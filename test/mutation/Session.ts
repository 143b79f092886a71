import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, it } from "@effect/vitest"
import { type File, getFn, type Suite, startTests, type Task, type Test, type VitestRunner } from "@vitest/runner"
import * as FastCheck from "fast-check"
import { inject, type SerializedConfig, vi } from "vitest"
import { VitestTestRunner } from "vitest/runners"
import { type Order, type Progress, planOf, root } from "./Plan.ts"

declare module "vitest" {
  interface ProvidedContext {
    mutationOrder: Order
  }
}

/** The long-lived process that runs tests under one mutant after the other. Vitest runs this file as its only test. */

// Property tests try the same values under each mutant.
FastCheck.configureGlobal({ seed: 1 })

const order = inject("mutationOrder")
const plan = planOf(order.target)

/** The instrumented code asks `on`. */
const mutants = {
  active: -1,
  /** Where to note what is executed, while that is measured. */
  seen: undefined as Set<number> | undefined,
  on: (number: number) => {
    mutants.seen?.add(number)
    return number === mutants.active
  }
}
Object.defineProperty(globalThis, "__mutants", { value: mutants })

/** The mutants that tests execute, by number. */
interface Coverage {
  /** While modules are loaded: to run one of these, they are loaded again. */
  readonly loading: ReadonlyArray<number>
  readonly files: ReadonlyArray<{
    readonly path: string
    readonly ms: number
    /** Outside of its tests: in its set-up. */
    readonly around: ReadonlyArray<number>
    readonly tests: ReadonlyArray<{ readonly id: string; readonly ms: number; readonly seen: ReadonlyArray<number> }>
  }>
}

const report = (progress: Progress) => appendFileSync(order.progressFile, `${JSON.stringify(progress)}\n`)

/** Vitest's state of this process, which is not public. */
interface Worker {
  readonly config: SerializedConfig
  readonly moduleCache: Map<string, unknown>
}
const isWorker = (value: unknown): value is Worker =>
  typeof value === "object" && value !== null && "config" in value && "moduleCache" in value

const worker = ((): Worker => {
  const state: unknown = Reflect.get(globalThis, "__vitest_worker__")
  if (isWorker(state)) return state
  throw new Error("This version of Vitest keeps its state in another place")
})()

const failed = (task: Task): boolean =>
  task.result?.state === "fail" || (task.type === "suite" && task.tasks.some(failed))

const testsOf = (task: Task): ReadonlyArray<Test> => (task.type === "suite" ? task.tasks.flatMap(testsOf) : [task])

interface Selection {
  /** Undefined: all. */
  readonly ids?: ReadonlySet<string>
  /** How long a test may take, in ms. */
  readonly timeout: (id: string) => number
  readonly onTest?: (test: Test) => void
  readonly onAround?: () => void
}

/** Vitest's own type of it, in which what is undefined need not be named. */
const runnerConfig = (config: SerializedConfig) => config as SerializedConfig & VitestRunner["config"]

/** Runs selected tests of a file, up to the first failure. */
class FileRunner extends VitestTestRunner {
  override config = runnerConfig(worker.config)
  selection: Selection = { timeout: () => 60_000 }
  hasFailed = false

  override importFile(path: string): unknown {
    worker.moduleCache.delete(path)
    return import(/* @vite-ignore */ path)
  }
  override onCleanupWorkerContext(): void {}
  override async onAfterRunSuite(): Promise<void> {}
  onCollected(files: ReadonlyArray<File>): void {
    this.selection.onAround?.()
    const { ids } = this.selection
    const isChosen = (task: Task): boolean => {
      const chosen =
        task.type === "suite" ? task.tasks.map(isChosen).includes(true) : ids === undefined || ids.has(task.id)
      if (!chosen) task.mode = "skip"
      return chosen
    }
    files.forEach(isChosen)
  }
  override async onBeforeRunSuite(suite: Suite): Promise<void> {
    if (this.hasFailed) suite.mode = "skip"
    await super.onBeforeRunSuite(suite)
  }
  override async onBeforeRunTask(test: Test): Promise<void> {
    if (this.hasFailed) test.mode = "skip"
    await super.onBeforeRunTask(test)
  }
  override onBeforeTryTask(test: Test): void {
    super.onBeforeTryTask(test)
    this.selection.onTest?.(test)
  }
  runTask(test: Test): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("too long")), this.selection.timeout(test.id))
    })
    return Promise.race([getFn(test)(), late]).finally(() => clearTimeout(timer))
  }
  override onAfterRunTask(test: Test): void {
    super.onAfterRunTask(test)
    this.hasFailed ||= test.result?.state === "fail"
    this.selection.onAround?.()
  }
}

const runFile = async (path: string, selection: Selection): Promise<File> => {
  const one = new FileRunner(worker.config)
  one.selection = selection
  const [file] = await startTests([{ filepath: join(root, path), testLocations: undefined }], one)
  if (file === undefined) throw new Error(`${path} has no tests`)
  return file
}

/** Runs all tests twice without a mutant: once to see what is executed while modules are loaded, then test by test. */
const measure = async (): Promise<Coverage> => {
  const loading = new Set<number>()
  const once = new Set<number>()
  const files: Array<Coverage["files"][number]> = []
  for (const path of plan.tests) {
    for (const isFirst of [true, false]) {
      report({ tag: "started", wait: 120_000 })
      const around = isFirst ? once : new Set<number>()
      const seen = new Map<string, Set<number>>()
      mutants.seen = isFirst ? loading : around
      const file = await runFile(path, {
        timeout: () => 60_000,
        onTest: ({ id }) => {
          mutants.seen = isFirst ? once : new Set()
          seen.set(id, mutants.seen)
        },
        onAround: () => {
          mutants.seen = around
        }
      })
      if (failed(file)) {
        const messages = [file, ...testsOf(file)].flatMap(({ name, result }) =>
          (result?.errors ?? []).map(({ message }) => `${name}: ${message}`)
        )
        throw new Error(`Without a mutant ${path} fails. ${messages.join("; ")}`)
      }
      if (isFirst) continue
      const tests = testsOf(file).map(({ id, result }) => ({
        id,
        ms: Math.ceil(result?.duration ?? 0),
        seen: [...(seen.get(id) ?? [])]
      }))
      files.push({ path, ms: tests.reduce((sum, { ms }) => sum + ms, 0), around: [...around], tests })
      for (const number of [...around, ...tests.flatMap((test) => test.seen)]) once.delete(number)
    }
  }
  mutants.seen = undefined
  // What is executed once only is kept by a module.
  return { loading: [...loading, ...once], files }
}

const session = async (): Promise<void> => {
  const isMeasured = existsSync(order.coverageFile)
  const coverage: Coverage = isMeasured ? JSON.parse(readFileSync(order.coverageFile, "utf8")) : await measure()
  if (!isMeasured) writeFileSync(order.coverageFile, JSON.stringify(coverage))
  const loading = new Set(coverage.loading)
  const times = new Map(coverage.files.flatMap(({ tests }) => tests.map(({ id, ms }) => [id, ms] as const)))
  const timeout = (id: string) => 3_000 + 5 * (times.get(id) ?? 0)

  /** Runs the tests that execute a mutant, the fastest files first, until one fails. */
  const isKilled = async (number: number): Promise<boolean | undefined> => {
    const isLoading = loading.has(number)
    const chosen = coverage.files
      .map(({ around, ms, path, tests }) => {
        const all = isLoading || around.includes(number)
        const covering = all ? tests : tests.filter(({ seen }) => seen.includes(number))
        return { path, ids: all ? undefined : new Set(covering.map(({ id }) => id)), ms, count: covering.length }
      })
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.ms - b.ms)
    if (chosen.length === 0) return undefined
    if (isLoading) vi.resetModules()
    mutants.active = number
    for (const { ids, ms, path } of chosen) {
      report({ tag: "started", wait: 20_000 + 5 * ms, number })
      if (failed(await runFile(path, { timeout, ...(ids === undefined ? {} : { ids }) }))) return true
    }
    return false
  }

  // Modules that were loaded under a mutant are of no use to others, so those come last.
  const numbers = order.numbers.toSorted((a, b) => Number(loading.has(a)) - Number(loading.has(b)) || a - b)
  for (const number of numbers) {
    const killed = await isKilled(number)
    mutants.active = -1
    report({ tag: "finished", number, result: killed === undefined ? "uncovered" : killed ? "killed" : "survived" })
  }
}

// Tests cannot be defined inside a test, so all runs in the set-up of one.
beforeAll(
  () =>
    session().catch((error: unknown) =>
      report({ tag: "failed", message: error instanceof Error ? error.message : String(error) })
    ),
  0
)
it("has run the tests under every mutant", () => {})

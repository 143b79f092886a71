import { FileSystem } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Cause, type Console, Deferred, Effect, Exit, Fiber, Redacted, type Scope } from "effect"
import { InvalidUsage } from "../src/Options.ts"
import { type RunsOptions, runAll } from "../src/ScriptRuns.ts"
import { fakeServer, key, numbers } from "./FakeServer.ts"
import { phoneAt, recorder } from "./HeadlessPhone.ts"

const script = (to: string, steps: string) => `to: "${to}"\ntimeout: 3\nsteps:\n${steps}`
const good = script(numbers.friendly, "  - expect: good morning\n  - hangup:\n")
const wrong = script(numbers.friendly, "  - expect: good evening\n    within: 0.2\n")
const fatal = script(numbers.fatal, "  - expect: morning\n  - say: Hello?\n  - expect: you said\n")
const silent = script(numbers.silent, "  - expect: never\n    within: 60\n")

interface Given extends Partial<RunsOptions> {
  /** The run is interrupted at the first row for which this holds. */
  readonly interruptAt?: (row: string) => boolean
}

/** Plays the scripts of a new folder, with these names. Returns what was printed, and the JUnit report. */
const runFolder = (url: string, files: { readonly [name: string]: string }, { interruptAt, ...options }: Given = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(`${root}/${name}`, text)
    const { console, err, out } = yield* recorder
    const reached = yield* Deferred.make<void>()
    const watching: Console.Console = {
      ...console,
      log: (...args) =>
        Effect.zipRight(
          console.log(...args),
          interruptAt?.(String(args[0])) === true ? Deferred.succeed(reached, undefined) : Effect.void
        )
    }
    const settings = { to: undefined, from: undefined, key: Redacted.make(key), json: false, timeout: 20, parallel: 1 }
    const all = { ...settings, junit: `${root}/junit.xml`, scripts: [root], ...options }
    const fiber = yield* Effect.fork(Effect.withConsole(runAll(all, phoneAt(url, key)), watching))
    if (interruptAt !== undefined) yield* Effect.zipRight(Deferred.await(reached), Fiber.interrupt(fiber))
    const exit = yield* Fiber.await(fiber)
    const clean = (text: string) => text.replaceAll(`${root}/`, "")
    const junit = yield* Effect.orElseSucceed(fs.readFileString(`${root}/junit.xml`), () => "")
    return { exit, out: clean(out.join("\n")), err: clean(err.join("\n")), junit: clean(junit) }
  })

const code = <E>(exit: Exit.Exit<number, E>): number | string =>
  Exit.match(exit, {
    onSuccess: (n) => n,
    onFailure: (cause) => (Cause.isInterruptedOnly(cause) ? "interrupted" : Cause.pretty(cause))
  })

const live = <E>(name: string, test: Effect.Effect<void, E, NodeContext.NodeContext | Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(test, NodeContext.layer))

describe("a run of several scripts", () => {
  live(
    "plays all, prints one report, and exits with 1 when one fails",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const { err, exit, junit, out } = yield* runFolder(server.url, { "a.yaml": wrong, "b.yaml": good })
      expect(code(exit)).toBe(1)
      expect(err).toMatch(/^failed: step 1, expect \/good evening\/: not heard within 0\.2 s/)
      const rows = out.split("\n")
      expect(rows.slice(-4)).toEqual([
        "Scripts",
        expect.stringMatching(/^ {2}failed {7}a\.yaml +\d\.\d s {2}step 1, expect \/good evening\/: not heard/),
        expect.stringMatching(/^ {2}ok {11}b\.yaml +\d\.\d s$/),
        "1 ok, 1 failed"
      ])
      expect(rows).toContain("▶ b.yaml")
      expect(junit).toMatch(/tests="2" failures="1" errors="0" skipped="0"/)
    })
  )

  live(
    "at once gives the same, with the rows of a script together",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const files = { "a.yaml": good, "b.yaml": good, "c.yaml": wrong }
      const { exit, out } = yield* runFolder(server.url, files, { parallel: 3 })
      expect(code(exit)).toBe(1)
      expect(
        out
          .split("▶")
          .slice(1)
          .map((part) => part.match(/dialling/g)?.length)
      ).toEqual([1, 1, 1])
      expect(out).toMatch(/2 ok, 1 failed$/)
    })
  )

  live(
    "with --json prints one document with a part for each script",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const { err, exit, out } = yield* runFolder(server.url, { "a.yaml": wrong, "b.yaml": good }, { json: true })
      expect(code(exit)).toBe(1)
      expect(err).toMatch(/^failed: a\.yaml: step 1, expect /)
      const document = JSON.parse(out)
      expect(document).toMatchObject({ ok: false, exit_code: 1, counts: { ok: 1, failed: 1, not_run: 0 } })
      expect(document.scripts).toMatchObject([
        { file: "a.yaml", result: "failed", ok: false, step: 1, steps: 1, failure: null },
        { file: "b.yaml", result: "ok", ok: true, step: null, steps: 2, call: { status: "completed" } }
      ])
    })
  )

  live(
    "of one file with --json prints the document of that script",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/a.yaml`
      yield* fs.writeFileString(file, good)
      const { exit, out } = yield* runFolder(server.url, {}, { json: true, scripts: [file] })
      expect(code(exit)).toBe(0)
      expect(JSON.parse(out)).toMatchObject({ ok: true, exit_code: 0, error: null, step: null, file })
    })
  )

  live(
    "plays none when one is invalid, and exits with 2",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const { err, exit, junit, out } = yield* runFolder(server.url, { "a.yaml": good, "b.yaml": "steps: []" })
      expect(code(exit)).toBe(2)
      expect(err).toBe("failed: b.yaml:1:1: steps: a script has at least one step")
      expect(out).toMatch(/not-run +a\.yaml +– {2}another script is invalid\n {2}invalid +b\.yaml/)
      expect(junit).toMatch(/errors="1" skipped="1"/)
      expect(server.received).toEqual([])
    })
  )

  live(
    "writes the report when the server dies, and says which scripts were not run and why",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const files = { "a.yaml": good, "b.yaml": fatal, "c.yaml": good, "d.yaml": wrong }
      const { exit, junit, out } = yield* runFolder(server.url, files)
      expect(code(exit)).toBe(3)
      expect(out.split("\n").slice(-5)).toEqual([
        expect.stringMatching(/^ {2}ok +a\.yaml/),
        expect.stringMatching(/^ {2}unavailable {2}b\.yaml .* the server is away: the connection was lost$/),
        expect.stringMatching(
          /^ {2}not-run +c\.yaml +– {2}the server is away: nothing answers at 127\.0\.0\.1:\d+: start it, or set SVC_URL$/
        ),
        expect.stringMatching(
          /^ {2}not-run +d\.yaml +– {2}the server is away: nothing answers at 127\.0\.0\.1:\d+: start it, or set SVC_URL$/
        ),
        "1 ok, 1 unavailable, 2 not-run"
      ])
      expect(junit).toMatch(/tests="4" failures="0" errors="1" skipped="2"/)
    })
  )

  live(
    "that is interrupted hangs up, and reports what was played so far",
    Effect.gen(function* () {
      const server = yield* fakeServer
      const files = { "a.yaml": good, "b.yaml": silent, "c.yaml": good }
      let answers = 0
      const interruptAt = (row: string) => row.includes("answered,") && ++answers === 2
      const { err, exit, junit, out } = yield* runFolder(server.url, files, { interruptAt })
      expect(code(exit)).toBe("interrupted")
      expect(err).toBe("failed: interrupted")
      expect(out.split("\n").slice(-4)).toEqual([
        expect.stringMatching(/^ {2}ok +a\.yaml/),
        expect.stringMatching(/^ {2}interrupted {2}b\.yaml .* interrupted$/),
        expect.stringMatching(/^ {2}not-run +c\.yaml +– {2}interrupted$/),
        "1 ok, 1 interrupted, 1 not-run"
      ])
      expect(junit).toMatch(/tests="3" failures="0" errors="1" skipped="1"/)
      expect(server.received.map(({ event }) => event)).toEqual(["dial", "hangup", "dial", "hangup"])
    })
  )

  live(
    "refuses a --junit that cannot be written before it plays a script",
    Effect.gen(function* () {
      const server = yield* fakeServer
      for (const junit of ["/dev/null/report.xml", "/"]) {
        const { exit } = yield* runFolder(server.url, { "a.yaml": good }, { junit })
        expect(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined).toBeInstanceOf(InvalidUsage)
      }
      expect(server.received).toEqual([])
    })
  )
})

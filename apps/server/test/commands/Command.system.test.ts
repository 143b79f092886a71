import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync } from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { start } from "@svc/conversation/Conversation"
import { digest } from "@svc/conversation/Replay"
import { facts } from "@svc/conversation/testing/Script"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Redacted } from "effect"
import * as SavedJournal from "../../src/commands/replay/SavedJournal.ts"
import { ask } from "../servers/Client.ts"

const main = fileURLToPath(new URL("../../dist/main.js", import.meta.url))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Running {
  readonly child: ChildProcess
  /** Waits for a line on standard output that matches. */
  readonly said: (pattern: RegExp) => Effect.Effect<RegExpExecArray>
  readonly ended: Effect.Effect<Ended>
}

/** The `svc` command as a process of its own, killed at the end of the scope. */
const svc = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      const child = spawn(process.execPath, [main, ...args], {
        env: { PATH: process.env["PATH"] ?? "", SVC_PORT: "0", ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      let stdout = ""
      let stderr = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text
      })
      return {
        child,
        said: (pattern) =>
          Effect.async((resume) => {
            const look = () => {
              const match = pattern.exec(stdout)
              if (match !== null) resume(Effect.succeed(match))
            }
            look()
            child.stdout.on("data", look)
          }),
        ended: Effect.async((resume) => {
          const end = () => resume(Effect.succeed({ code: child.exitCode, stdout, stderr }))
          if (child.exitCode !== null || child.signalCode !== null) end()
          else child.once("close", end)
        })
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

const run = (args: ReadonlyArray<string>, env?: Record<string, string>) =>
  Effect.flatMap(svc(args, env), ({ ended }) => ended)

const database = Effect.map(TestDatabase.freshUrl, (url) => ({ SVC_DATABASE_URL: Redacted.value(url) }))

/** A port that is taken for the rest of the scope. */
const takenPort = Effect.acquireRelease(
  Effect.async<Net.Server>((resume) => {
    const server = Net.createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
).pipe(
  Effect.map((server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? String(address.port) : ""
  })
)

/** How many threads of a process wait when its main one, whose priority is as it was, wants the core that they want. */
const helpers = (pid = Number.NaN) => {
  expect(Os.getPriority(pid)).toBe(Os.getPriority())
  return readdirSync(`/proc/${pid}/task`).filter((thread) => Os.getPriority(Number(thread)) > Os.getPriority()).length
}

describe("svc", () => {
  it.scopedLive("prints its version and its commands, and refuses an unknown command", () =>
    Effect.gen(function* () {
      const [version, help, unknown] = yield* Effect.all(
        [run(["--version"]), run(["serve", "--help"]), run(["dance"])],
        { concurrency: 2 }
      )
      expect([version.code, version.stdout.trim()]).toEqual([0, "0.1.0"])
      expect(help.code).toBe(0)
      expect(help.stdout).toContain("Usage: svc serve [options]")
      expect(help.stdout).not.toContain("\u001b")
      expect(unknown).toEqual({
        code: 1,
        stdout: "",
        stderr: "svc: unknown command: svc dance.\nsvc --help lists the commands.\n"
      })
    })
  )

  it.scopedLive("serve prints working keys on the first start only, and shuts down on a signal", () =>
    Effect.gen(function* () {
      const env = yield* database
      const first = yield* svc(["serve", "--dev"], env)
      const [, key = ""] = yield* first.said(/(svc_live_[0-9a-f]{48})/)
      const [, port = ""] = yield* first.said(/listens at http:\/\/127\.0\.0\.1:(\d+)/)
      expect((yield* ask(Number(port), { path: "/v1/health", key })).status).toBe(200)
      if (process.platform === "linux") expect(helpers(first.child.pid)).toBeGreaterThanOrEqual(4)
      first.child.kill("SIGTERM")
      expect(yield* first.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("curl") })

      const second = yield* svc(["serve", "--dev"], env)
      const [, again = ""] = yield* second.said(/listens at http:\/\/127\.0\.0\.1:(\d+)/)
      expect((yield* ask(Number(again), { path: "/v1/health", key })).status).toBe(200)
      second.child.kill("SIGINT")
      const ended = yield* second.ended
      expect(ended.code).toBe(0)
      expect(ended.stdout).not.toMatch(/svc_live_|curl/)
    })
  )

  it.scopedLive("agent check ends with 1 for faults of a server, and with 2 for a wrong command line", () =>
    Effect.gen(function* () {
      const url = "http://127.0.0.1:1/"
      const [faulty, wrong, unfit] = yield* Effect.all(
        [
          run(["agent", "check", url, "--dev", "--json"]),
          run(["agent", "check", url, "--tranzcript"]),
          run(["agent", "check", url, "--with", "{}"])
        ],
        { concurrency: 2 }
      )
      expect(faulty.code).toBe(1)
      expect(JSON.parse(faulty.stdout)).toMatchObject({
        ok: false,
        checks: [{ failure: { stage: "call.started" } }, {}, {}]
      })
      expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Did you mean --transcript") })
      expect(unfit).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("give --tool too") })
    })
  )

  it.scopedLive("replay compares a saved journal without a database, and has its own exit codes", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(Os.tmpdir(), "svc-replay-"))
      const save = (name: string, commands: string) =>
        SavedJournal.write(join(folder, name), {
          version: "0.1.0",
          at: "2026-01-01T00:00:00.000Z",
          journal: { call_id: facts.call_id, ended: false, rows: [{ seq: 0, input: facts, commands }] },
          given: new Map()
        }).pipe(Effect.provide(NodeContext.layer))
      yield* save("same.jsonl", digest(start(facts)[1]))
      yield* save("other.jsonl", "other")
      const [same, other, wrong] = yield* Effect.all(
        [
          run(["replay", join(folder, "same.jsonl")]),
          run(["replay", join(folder, "other.jsonl"), "--json"]),
          run(["replay", join(folder, "same.jsonl"), "--safe", "x"])
        ],
        { concurrency: 2 }
      )
      expect(same).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("1 step, the call was live") })
      expect(other.code).toBe(1)
      expect(JSON.parse(other.stdout)).toMatchObject({ ok: false, differences: [{ seq: 0 }] })
      expect(wrong).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Did you mean --save") })
      expect(yield* run(["replay", "1"], yield* database)).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("there is no call 1 in this database")
      })
    })
  )

  it.scopedLive("doctor reports what works and what does not, as text and as JSON", () =>
    Effect.gen(function* () {
      const env = yield* database
      const [well, ill] = yield* Effect.all(
        [
          run(["doctor", "--dev", "--json"], { ...env, SVC_PORT: "0" }),
          run(["doctor", "--json"], { ...env, SVC_PLUGINS: "no-such-plugin", SVC_PORT: yield* takenPort })
        ],
        { concurrency: 2 }
      )
      expect(well.code).toBe(0)
      expect(JSON.parse(well.stdout)).toMatchObject({ ok: true })
      expect(well.stdout).toContain("any free port; a running server is not looked for")
      expect(ill.code).toBe(1)
      const { checks } = JSON.parse(ill.stdout)
      const failing = checks
        .filter((check: { ok: boolean }) => !check.ok)
        .map((check: { check: string }) => check.check)
      // What needs the plugins may fail with them; the rest must not.
      expect(failing).toEqual(expect.arrayContaining(["plugins", "port"]))
      expect(failing).not.toContain("database")
    })
  )
})

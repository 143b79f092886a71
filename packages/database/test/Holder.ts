import { type ChildProcess, spawn } from "node:child_process"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"
import { Effect, Schema } from "effect"

const Result = Schema.parseJson(
  Schema.Union(Schema.Struct({ url: Schema.String, launched: Schema.Boolean }), Schema.Struct({ error: Schema.String }))
)

const program = fileURLToPath(new URL("./fixtures/holder.ts", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url))

const exited = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
  })

/** Starts a process that holds an embedded database; it ends with the scope. */
export const hold = (dir: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--import", "tsx", program, dir, ...args], {
          cwd: root,
          stdio: ["pipe", "pipe", "inherit"]
        })
      ),
      (child) =>
        Effect.suspend(() => {
          child.stdin.end()
          return exited(child)
        })
    )
    const line = yield* Effect.async<string>((resume) => {
      const lines = readline.createInterface(child.stdout)
      // Log lines come before the result.
      lines.on("line", (text) => text.startsWith("{") && resume(Effect.succeed(text)))
      child.once("exit", () => resume(Effect.succeed(JSON.stringify({ error: "exited" }))))
    })
    return {
      result: yield* Schema.decode(Result)(line),
      kill: Effect.suspend(() => {
        child.kill("SIGKILL")
        return exited(child)
      })
    }
  })

import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Config, Deferred, type Duration, Effect, Exit, Option, type Scope } from "effect"
import { Inbox } from "./Inbox.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running `svc …` with only the necessary part of our environment. */
export interface SvcProcess {
  readonly pid: number
  /** Its output, both streams, in order. */
  readonly output: () => string
  /** Its standard error. */
  readonly errors: () => string
  /** Lines as they arrive. */
  readonly lines: Inbox<string>
  /** Closes the reader of what it prints: further output fails with EPIPE. */
  readonly closeOutput: Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Sends keys to the terminal of a process that has one. */
  readonly type: (keys: string) => Effect.Effect<void>
  /** Waits for its end: at most a minute, for a command that also has to start on a busy machine. */
  readonly exit: (within?: Duration.DurationInput) => Effect.Effect<ProcessExit>
  readonly hasExited: () => boolean
}

/** Variables of the process; `SVC_…` of ours are not passed on. */
export interface Environment {
  readonly [name: string]: string
}

const surroundings = Effect.map(
  Effect.forEach(["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"], (name) =>
    Effect.map(Effect.orDie(Config.option(Config.string(name))), (value) =>
      Option.match(value, { onNone: () => ({}), onSome: (text) => ({ [name]: text }) })
    )
  ),
  (parts): Environment => Object.assign({}, ...parts)
)

/**
 * Starts the built `svc` with these arguments. The scope stops it, by force if necessary. With `inTerminal` it has a
 * pseudo-terminal, by `script` of util-linux: both streams come as one, and its exit code is passed on. Otherwise its
 * standard input is `input`.
 */
export const start = (
  args: ReadonlyArray<string>,
  env: Environment,
  { inTerminal = false, input }: { readonly inTerminal?: boolean; readonly input?: string } = {}
): Effect.Effect<SvcProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    const around = yield* surroundings
    const ended = yield* Deferred.make<ProcessExit>()
    const lines = new Inbox<string>(`svc ${args.join(" ")}`)
    let printed = ""
    let errors = ""
    let exited = false
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const command = [process.execPath, "apps/server/dist/main.js", ...args]
        const [file = "", ...rest] = inTerminal ? ["script", "-qec", command.join(" "), "/dev/null"] : command
        const started = spawn(file, rest, {
          cwd: root,
          env: { ...around, ...env },
          stdio: ["pipe", "pipe", "pipe"]
        })
        // A process that has ended does not read on.
        started.stdin.on("error", () => {})
        if (!inTerminal) started.stdin.end(input)
        for (const stream of [started.stdout, started.stderr]) {
          let part = ""
          stream.setEncoding("utf8").on("data", (text: string) => {
            printed += text
            if (stream === started.stderr) errors += text
            const parts = (part + text).split("\n")
            part = parts.pop() ?? ""
            for (const line of parts) lines.push(line)
          })
        }
        started.once("exit", () => {
          exited = true
        })
        // "close" comes after the last output.
        started.once("close", (code, signal) => {
          lines.close(`the process ended with ${signal ?? code}`)
          Deferred.unsafeDone(ended, Exit.succeed({ code, signal }))
        })
        return started
      }),
      (started) =>
        Effect.suspend(() => {
          if (exited) return Effect.void
          started.kill("SIGTERM")
          return Deferred.await(ended).pipe(
            Effect.timeout("12 seconds"),
            Effect.catchAll(() =>
              Effect.zipRight(
                Effect.sync(() => started.kill("SIGKILL")),
                Deferred.await(ended)
              )
            ),
            Effect.asVoid
          )
        })
    )
    return {
      pid: child.pid ?? 0,
      output: () => printed,
      errors: () => errors,
      lines,
      closeOutput: Effect.sync(() => {
        for (const stream of [child.stdout, child.stderr]) stream?.destroy()
      }),
      signal: (signal) => Effect.sync(() => void child.kill(signal)),
      type: (keys) => Effect.sync(() => void child.stdin.write(keys)),
      exit: (within = "1 minute") =>
        Deferred.await(ended).pipe(
          Effect.timeoutFail({
            duration: within,
            onTimeout: () => new Error(`svc ${args.join(" ")} did not end; it printed:\n${printed}`)
          }),
          Effect.orDie
        ),
      hasExited: () => exited
    }
  })

/** Runs a command until it ends. */
export const run = (
  args: ReadonlyArray<string>,
  env: Environment,
  input = ""
): Effect.Effect<ProcessExit & { readonly output: string; readonly errors: string }> =>
  Effect.scoped(
    Effect.gen(function* () {
      const child = yield* start(args, env, { input })
      const exit = yield* child.exit()
      return { ...exit, output: child.output(), errors: child.errors() }
    })
  )

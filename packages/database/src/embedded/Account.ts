import { execFile } from "node:child_process"
import { Data, Effect } from "effect"

/** The operating-system account that PostgreSQL runs as; undefined: that of this process. */
export type Account = { readonly uid: number; readonly gid: number } | undefined

/** The embedded database could not be prepared or started. `message` is one line for the terminal. */
export class EmbeddedPostgresError extends Data.TaggedError("EmbeddedPostgresError")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The account `nobody`: PostgreSQL refuses to run as root. */
export const nobody = { uid: 65534, gid: 65534 } as const

export const isRoot = (): boolean => process.getuid?.() === 0

/** Options for child processes: the account, and a fixed environment. */
export const spawnOptions = (account: Account, cwd: string) => ({
  ...account,
  cwd,
  env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }
})

/** Runs a program and returns its output. Fails with its error output unless it exits with 0. */
export const runAs = (
  account: Account,
  program: string,
  args: ReadonlyArray<string>,
  cwd: string
): Effect.Effect<string, EmbeddedPostgresError> =>
  Effect.async((resume) => {
    const child = execFile(program, args, spawnOptions(account, cwd), (error, stdout, stderr) => {
      if (error === null) return resume(Effect.succeed(stdout))
      const output = stderr.trim() === "" ? error.message : stderr.trim()
      resume(Effect.fail(new EmbeddedPostgresError({ message: output.replace(/\s*\n\s*/g, "; "), cause: error })))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

import { execFile } from "node:child_process"
import { Data, Effect } from "effect"

/** The operating-system account that PostgreSQL runs as; `undefined` is our own. */
export type Account = { readonly uid: number; readonly gid: number } | undefined

/** The embedded database could not be prepared or started. `message` is one line for the person at the terminal. */
export class EmbeddedPostgresError extends Data.TaggedError("EmbeddedPostgresError")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** PostgreSQL refuses to run as root. This is `nobody`, who owns nothing. */
export const nobody = { uid: 65534, gid: 65534 } as const

export const isRoot = (): boolean => process.getuid?.() === 0

/** How our children are started: as the account, with nothing of our environment but a fixed locale. */
export const spawnOptions = (account: Account, cwd: string) => ({
  ...account,
  cwd,
  env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" }
})

/** Runs a program to its end. Fails with what it wrote when it cannot be started or exits with other than 0. */
export const runAs = (
  account: Account,
  program: string,
  args: ReadonlyArray<string>,
  cwd: string
): Effect.Effect<string, EmbeddedPostgresError> =>
  Effect.async((resume) => {
    const child = execFile(program, args, spawnOptions(account, cwd), (error, stdout, stderr) => {
      if (error === null) return resume(Effect.succeed(stdout))
      const said = stderr.trim() === "" ? error.message : stderr.trim()
      resume(Effect.fail(new EmbeddedPostgresError({ message: said.replace(/\s*\n\s*/g, "; "), cause: error })))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

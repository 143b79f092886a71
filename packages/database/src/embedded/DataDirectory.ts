import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Effect } from "effect"
import { makeFolder } from "../Folders.ts"
import { type Account, EmbeddedPostgresError, isRoot, nobody, runAs } from "./Account.ts"
import type { Binaries } from "./Binaries.ts"
import { type DiskError, disk, tolerate } from "./Disk.ts"

/** The major version of the packaged programs. */
const majorVersion = "18"

const absent = Effect.void

const startError = (message: string) => new EmbeddedPostgresError({ message })

/** What the operator can do about an error of the system. */
const diskReason = ({ code, message }: DiskError): string => {
  switch (code) {
    case "ENOTDIR":
    case "EEXIST":
      return "a file is in the way"
    case "EACCES":
    case "EPERM":
      return `this user (uid ${process.getuid?.()}) may not read or write there`
    case "EROFS":
      return "the file system is read-only"
    case "ENOSPC":
      return "the disk is full"
    case "ENOENT":
      return "its folder cannot be made there"
    default:
      return message
  }
}

const toStartError = (dir: string) => (error: DiskError | EmbeddedPostgresError) =>
  error._tag === "DiskError"
    ? new EmbeddedPostgresError({
        message: `Cannot use the data directory ${dir}: ${diskReason(error)}; set SVC_DATA_DIR to another folder`,
        cause: error
      })
    : error

/**
 * The account that PostgreSQL runs as on this directory: that of this process or, when it is root, the directory's
 * owner, so that `sudo` does not change the owner of the data. A directory that root owns or creates is given to
 * `nobody`.
 */
export const accountFor = (dir: string): Effect.Effect<Account, EmbeddedPostgresError> =>
  Effect.gen(function* () {
    const found = yield* disk(() => fs.stat(dir)).pipe(tolerate(["ENOENT"], absent))
    if (!isRoot()) {
      if (found !== undefined && found.uid !== process.getuid?.()) {
        return yield* startError(`The data directory ${dir} belongs to another user (uid ${found.uid})`)
      }
      return undefined
    }
    return found === undefined || found.uid === 0 ? nobody : { uid: found.uid, gid: found.gid }
  }).pipe(Effect.mapError(toStartError(dir)))

/**
 * The path of the directory for a program started in it. PostgreSQL's account may not be allowed to read a parent such
 * as /root. On Linux a process reaches its own working directory by this path without access to the parents.
 */
export const nameFor = (dir: string, account: Account): string =>
  account !== undefined && process.platform === "linux" ? "/proc/self/cwd" : dir

const changeOwner = (account: Account, target: string): Effect.Effect<void, DiskError> =>
  account === undefined ? Effect.void : disk(() => fs.chown(target, account.uid, account.gid))

/** Changes the owner of a directory that root restored or copied, with its files. */
const changeOwnerOfAll = (account: Account, dir: string) =>
  Effect.gen(function* () {
    const { uid } = yield* disk(() => fs.stat(dir))
    if (account === undefined || uid === account.uid) return
    const entries = yield* disk(() => fs.readdir(dir, { recursive: true }))
    yield* Effect.forEach(entries, (entry) => disk(() => fs.lchown(path.join(dir, entry), account.uid, account.gid)), {
      concurrency: 8,
      discard: true
    })
    yield* changeOwner(account, dir)
  })

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

/** Removes the drafts of processes that were killed. */
const removeStaleDrafts = (dir: string) =>
  Effect.gen(function* () {
    const prefix = `${path.basename(dir)}.new-`
    const entries = yield* disk(() => fs.readdir(path.dirname(dir)))
    const stale = entries.filter((name) => name.startsWith(prefix) && !isAlive(Number(name.slice(prefix.length))))
    yield* Effect.forEach(stale, (name) =>
      disk(() => fs.rm(path.join(path.dirname(dir), name), { recursive: true, force: true }))
    )
  })

const versionOf = (dir: string) =>
  disk(() => fs.readFile(path.join(dir, "PG_VERSION"), "utf8")).pipe(
    Effect.map((text): string | undefined => text.trim()),
    tolerate(["ENOENT"], absent)
  )

const syncFolder = (folder: string) =>
  Effect.acquireUseRelease(
    disk(() => fs.open(folder)),
    (handle) => disk(() => handle.sync()),
    (handle) => Effect.ignore(disk(() => handle.close()))
  )

/**
 * Creates the data directory if it does not exist. It is prepared as a draft beside it and then renamed, so a directory
 * with a PG_VERSION is complete even after a crash; of two concurrent drafts the first stays.
 */
export const prepare = (options: {
  readonly dir: string
  readonly account: Account
  readonly binaries: Binaries
  readonly durable: boolean
}): Effect.Effect<void, EmbeddedPostgresError> =>
  Effect.gen(function* () {
    const { account, binaries, dir, durable } = options
    const version = yield* versionOf(dir)
    if (version === majorVersion) return yield* changeOwnerOfAll(account, dir)
    if (version !== undefined) {
      return yield* startError(
        `${dir} holds data of PostgreSQL ${version}; this release contains ${majorVersion}. ` +
          "Dump it with the release that wrote it and restore the dump: see docs/operations.md"
      )
    }
    yield* disk(() => makeFolder(path.dirname(dir)))
    yield* Effect.logInfo("Preparing the embedded database (first start, takes a few seconds)")
    yield* removeStaleDrafts(dir)
    const draft = `${dir}.new-${process.pid}`
    const discard = disk(() => fs.rm(draft, { recursive: true, force: true }))
    yield* discard
    yield* Effect.gen(function* () {
      yield* disk(() => fs.mkdir(draft, { mode: 0o700 }))
      yield* changeOwner(account, draft)
      const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
      // No password: only the owner can reach the socket, and the owner can read the files anyway.
      const args = ["-D", nameFor(draft, account), "-U", "postgres", "--auth=trust", ...locale]
      yield* runAs(account, binaries.initdb, durable ? args : [...args, "--no-sync"], draft)
      yield* disk(() => fs.rename(draft, dir)).pipe(tolerate(["ENOTEMPTY", "EEXIST"], Effect.void))
      if (durable) yield* syncFolder(path.dirname(dir))
    }).pipe(Effect.ensuring(Effect.ignore(discard)))
    if ((yield* versionOf(dir)) === undefined) {
      return yield* startError(`${dir} is not empty and holds no database; choose another SVC_DATA_DIR`)
    }
  }).pipe(Effect.mapError(toStartError(options.dir)))

/** The server that the lock file of a data directory names. */
export interface Running {
  readonly pid: number
  /** Where its socket is. */
  readonly socketDir: string
  readonly port: number
  readonly state: "starting" | "ready" | "stopping"
}

/**
 * Whether the process is a PostgreSQL on this directory: ids are reused, but PostgreSQL's working directory is its
 * data.
 */
const isServerOf = (pid: number, dir: string): Effect.Effect<boolean> =>
  process.platform !== "linux"
    ? Effect.succeed(true)
    : Effect.zipWith(
        disk(() => fs.readlink(`/proc/${pid}/cwd`)),
        disk(() => fs.realpath(dir)),
        (cwd, real) => cwd === real
      ).pipe(Effect.catchAll((error) => Effect.succeed(error.code !== "ENOENT")))

const lockFile = (dir: string) => path.join(dir, "postmaster.pid")

/** The program of a process, and its parent; undefined when the system does not show it. */
const processOf = (pid: number) =>
  Effect.all([
    disk(() => fs.readFile(`/proc/${pid}/cmdline`, "utf8")),
    disk(() => fs.readFile(`/proc/${pid}/status`, "utf8"))
  ]).pipe(
    Effect.map(([command, status]) => ({
      command: command.split("\0").join(" ").trim(),
      parent: Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1])
    })),
    Effect.orElseSucceed(() => undefined)
  )

/** Who runs a server, for the operator: its process and the one that started it, as far as the system shows them. */
export const holderOf = (pid: number): Effect.Effect<string> =>
  Effect.gen(function* () {
    const server = yield* processOf(pid)
    // Between them is the shell that stops the server with its process.
    const shell = server === undefined ? undefined : yield* processOf(server.parent)
    const starter = shell === undefined || shell.parent <= 1 ? undefined : yield* processOf(shell.parent)
    return starter === undefined
      ? `process ${pid}`
      : `process ${pid}, started by process ${shell?.parent}: ${starter.command.slice(0, 200)}`
  })

/** The live server on this directory, if any. Removes the lock file of a killed one. */
export const running = (dir: string): Effect.Effect<Running | undefined, EmbeddedPostgresError> =>
  Effect.gen(function* () {
    const text = yield* disk(() => fs.readFile(lockFile(dir), "utf8")).pipe(tolerate(["ENOENT"], absent))
    if (text === undefined) return undefined
    // pid, directory, start time, port, socket folder, listen address, shared memory key, state
    const [pidLine = "", , , port = "", socketDir = "", , , state = "starting"] = text.split("\n").map((l) => l.trim())
    const pid = Number(pidLine)
    if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
    if (!isAlive(pid)) return undefined
    if (!(yield* isServerOf(pid, dir))) {
      // PostgreSQL would take the other process for a running server and refuse to start.
      yield* disk(() => fs.rm(lockFile(dir), { force: true }))
      return undefined
    }
    const known = state === "ready" || state === "stopping" ? state : "starting"
    return { pid, socketDir, port: Number(port), state: known } as const
  }).pipe(Effect.mapError(toStartError(dir)))

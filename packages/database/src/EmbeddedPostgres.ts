import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs/promises"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Deferred, Effect, Exit, Schedule, Scope } from "effect"
import { type Account, EmbeddedPostgresError, spawnOptions } from "./embedded/Account.ts"
import * as Binaries from "./embedded/Binaries.ts"
import * as DataDirectory from "./embedded/DataDirectory.ts"
import { type DiskError, disk, tolerate } from "./embedded/Disk.ts"

/**
 * A PostgreSQL server started from the binaries of an npm package. Only the owner of the data directory (and root) can
 * connect, by a unix socket. It stops with this process, even if this process is killed.
 */
export interface EmbeddedPostgres {
  /** Connection URL of the superuser and the default database. */
  readonly url: string
  /** True when this process started the server; false when it uses one that another process runs on the directory. */
  readonly launched: boolean
}

export interface Options {
  /** The data directory; created if missing. */
  readonly dir: string
  /**
   * Whether a commit survives a crash of the machine. False is faster, for tests.
   * @default true
   */
  readonly durable?: boolean
  /**
   * Delete the data directory when the server stops, also when this process was killed: for tests.
   * @default false
   */
  readonly removeAtEnd?: boolean
}

/** A running server, started by this process or another one. */
interface Server {
  readonly socketDir: string
  readonly port: number
  readonly launched: boolean
  /** Completes when the server has ended. */
  readonly ended: Effect.Effect<void>
}

/** The error while another process still uses the directory: try again. */
const inUse = Symbol("inUse")
/** The error when the server of another process is up, but cannot be reached. */
const unreachable = Symbol("unreachable")

/**
 * The shell script that runs PostgreSQL. It reads a pipe from this process, which the kernel closes when this process
 * dies, and then shuts the server down. It repeats the signal: the server ignores one that comes before it has set its
 * handlers (a shell starts background commands with SIGINT ignored). $1 and $2: directories to remove at the end, or empty. The rest: the server's
 * command.
 */
const supervisor = `
data=$1 socket=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- & server=$!
( read -r _ <&3; while kill -INT $server; do sleep 1; done ) >/dev/null 2>&1 & watcher=$!
exec 3<&-
wait $server; code=$?
kill $watcher 2>/dev/null
[ -z "$data" ] || rm -rf "$data" "$socket"
exit $code`

const settings = (durable: boolean): ReadonlyArray<string> => [
  "listen_addresses=",
  "port=5432",
  "timezone=UTC",
  "shared_buffers=64MB",
  // The queue of webhook deliveries inserts and deletes rows all the time.
  "autovacuum_naptime=10s",
  "log_checkpoints=off",
  "log_statement=none",
  ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200"])
]

/** Starts the server and waits until it accepts connections. Closing the scope stops it. */
const launch = (options: Required<Options>, account: Account, postgres: string, socketDir: string) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void, EmbeddedPostgresError | typeof inUse>()
    const ended = yield* Deferred.make<void>()
    const flags = [`unix_socket_directories=${socketDir}`, ...settings(options.durable)].flatMap((s) => ["-c", s])
    const command = [postgres, "-D", DataDirectory.nameFor(options.dir, account), ...flags]
    const remove = options.removeAtEnd ? [options.dir, socketDir] : ["", ""]

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        // Detached: Ctrl-C at the terminal must stop this process first, and the server after it.
        const child = spawn("/bin/sh", ["-c", supervisor, "svc-postgres", ...remove, ...command], {
          ...spawnOptions(account, options.dir),
          detached: true,
          stdio: ["pipe", "ignore", "pipe"]
        })
        let log = ""
        child.stdin.on("error", () => {}) // The process has ended: see "close".
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          log = (log + text).slice(-8000)
          if (log.includes("ready to accept connections")) Deferred.unsafeDone(ready, Exit.void)
        })
        const end = (reason: string) => {
          const busy = /lock file ".*" already exists|shared memory block .* still in use|could not create lock file/
          const fatal = log.match(/^.*(?:FATAL|PANIC|HINT): .*$/gm)?.join("; ") ?? log.trim().split("\n").at(-1)
          const message = `The embedded PostgreSQL did not start (${reason}): ${fatal}`
          Deferred.unsafeDone(ready, Exit.fail(busy.test(log) ? inUse : new EmbeddedPostgresError({ message })))
          Deferred.unsafeDone(ended, Exit.void)
        }
        child.once("error", (error) => end(error.message))
        child.once("close", (code, signal) => end(signal ?? `exit code ${code}`))
        return child
      }),
      (child) =>
        Effect.sync(() => child.stdin.end()).pipe(
          Effect.zipRight(Deferred.await(ended)),
          Effect.zipRight(
            options.removeAtEnd ? Effect.ignore(disk(() => fs.rm(options.dir, { recursive: true }))) : Effect.void
          )
        )
    )
    yield* Deferred.await(ready)
    return { socketDir, port: 5432, launched: true, ended: Deferred.await(ended) } satisfies Server
  })

/** Whether the socket accepts connections. */
const accepts = (socketDir: string, port: number): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const socket = net.connect(path.join(socketDir, `.s.PGSQL.${port}`))
    const done = (answer: boolean) => {
      socket.destroy()
      resume(Effect.succeed(answer))
    }
    socket.once("connect", () => done(true)).once("error", () => done(false))
    return Effect.sync(() => socket.destroy())
  })

/** Uses the server of another process on the directory. */
const attach = (dir: string, { pid, port, socketDir, state }: DataDirectory.Running) =>
  Effect.gen(function* () {
    if (state !== "ready") return yield* Effect.fail(inUse)
    if (!(yield* accepts(socketDir, port))) return yield* Effect.fail(unreachable)
    const hasEnded = DataDirectory.running(dir).pipe(
      Effect.map((now) => now?.pid !== pid),
      Effect.orElseSucceed(() => false)
    )
    const ended = Effect.asVoid(Effect.repeat(hasEnded, { schedule: Schedule.spaced("500 millis"), until: (is) => is }))
    return { socketDir, port, launched: false, ended } satisfies Server
  })

/**
 * The folder of the socket: private, with a short path (the limit is about 100 bytes), and the same at every start on
 * the directory, so that a pool can reconnect after a restart.
 */
const socketFolder = (dir: string, account: Account): Effect.Effect<string, EmbeddedPostgresError> =>
  Effect.gen(function* () {
    const uid = account?.uid ?? process.getuid?.() ?? 0
    const real = yield* disk(() => fs.realpath(dir))
    const name = `svc-pg-${uid}-${createHash("sha256").update(real).digest("hex").slice(0, 12)}`
    // Not TMPDIR first: it may be long, and it differs between the processes of one user.
    const parent = yield* disk(() => fs.access("/tmp", fs.constants.W_OK)).pipe(
      Effect.as("/tmp"),
      Effect.orElseSucceed(() => os.tmpdir())
    )
    const folder = path.join(parent, name)
    yield* disk(() => fs.mkdir(folder, { mode: 0o700 })).pipe(
      Effect.zipRight(account === undefined ? Effect.void : disk(() => fs.chown(folder, account.uid, account.gid))),
      tolerate(["EEXIST"], Effect.void)
    )
    const found = yield* disk(() => fs.lstat(folder))
    if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
      return yield* new EmbeddedPostgresError({ message: `${folder} is not a private folder of this user; remove it` })
    }
    return folder
  }).pipe(
    Effect.mapError((error: DiskError | EmbeddedPostgresError) =>
      error._tag === "DiskError"
        ? new EmbeddedPostgresError({ message: `Cannot make a folder for the database's socket: ${error.message}` })
        : error
    )
  )

/** How long to wait for a server that starts (it may recover from a crash) or stops. */
const inUseRetries = Schedule.spaced("100 millis").pipe(Schedule.upTo("2 minutes"))
/** How long to wait for a server that says it is ready: it may just have stopped. */
const unreachableRetries = Schedule.spaced("100 millis").pipe(Schedule.upTo("5 seconds"))

/** Why the server of another process cannot be used, and who runs it. */
const refusal = (dir: string, reason: typeof inUse | typeof unreachable) =>
  Effect.gen(function* () {
    const running = yield* DataDirectory.running(dir)
    const holder =
      running === undefined ? "a process that is not visible here" : yield* DataDirectory.holderOf(running.pid)
    const what =
      reason === inUse || running === undefined
        ? "and does not accept connections; stop it first"
        : `and its socket in ${running.socketDir} cannot be reached from here; run this command where it runs`
    return yield* new EmbeddedPostgresError({ message: `Another PostgreSQL server uses ${dir} (${holder}) ${what}` })
  })

const url = (server: Server): string =>
  `postgres://postgres@localhost:${server.port}/postgres?host=${encodeURIComponent(server.socketDir)}`

/**
 * Runs a server on the data directory, or uses the one that already runs there, until the scope closes. A server that
 * ends before that is started again at the same address.
 *
 * When this process is root, PostgreSQL runs as the owner of the directory or, if that is root too, as uid 65534
 * (initdb needs an account, which usual systems have for it). It writes to the directory, to the folder of the socket
 * in /tmp and, where the programs cannot run in place, to a folder with a copy of them.
 */
export const start = (options: Options): Effect.Effect<EmbeddedPostgres, EmbeddedPostgresError, Scope.Scope> =>
  Effect.gen(function* () {
    const all = {
      dir: path.resolve(options.dir),
      durable: options.durable ?? true,
      removeAtEnd: options.removeAtEnd ?? false
    }
    const { dir } = all
    const account = yield* DataDirectory.accountFor(dir)

    const claim = Effect.gen(function* () {
      const running = yield* DataDirectory.running(dir)
      if (running !== undefined) return yield* attach(dir, running)
      const binaries = yield* Binaries.make(account, path.dirname(dir))
      yield* DataDirectory.prepare({ dir, account, binaries, durable: all.durable })
      const socketDir = yield* Effect.acquireRelease(socketFolder(dir, account), (folder) =>
        Effect.ignore(disk(() => fs.rmdir(folder)))
      )
      return yield* launch(all, account, binaries.postgres, socketDir)
    }).pipe(
      Effect.retry({ schedule: unreachableRetries, while: (error) => error === unreachable }),
      Effect.retry({ schedule: inUseRetries, while: (error) => error === inUse }),
      Effect.catchAll((error) => (error === inUse || error === unreachable ? refusal(dir, error) : Effect.fail(error)))
    )

    const logWhenSlow = Effect.logInfo(`Waiting for the embedded database in ${dir}`).pipe(
      Effect.delay("2 seconds"),
      Effect.zipRight(Effect.never)
    )
    // A scope for the servers, so that the watch below ends before they do.
    const servers = yield* Effect.acquireRelease(Scope.make(), Scope.close)
    const claimed = Effect.raceFirst(Scope.extend(claim, servers), logWhenSlow)
    const first = yield* claimed
    const watch = (server: Server): Effect.Effect<never> =>
      server.ended.pipe(
        Effect.zipRight(Effect.logWarning("The embedded database stopped; starting it again")),
        Effect.zipRight(claimed),
        Effect.tapError((error) => Effect.logError(error.message)),
        Effect.retry(Schedule.spaced("1 second")),
        Effect.orDie,
        Effect.flatMap(watch)
      )
    yield* Effect.forkScoped(watch(first))
    return { url: url(first), launched: first.launched }
  })

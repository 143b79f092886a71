import { FileSystem, Path } from "@effect/platform"
import { Clock, Console, Effect, type Layer } from "effect"
import { exitCodes } from "./ExitCode.ts"
import { connected, load, type Playable, playOne, type RunSettings } from "./Headless.ts"
import { junit } from "./JUnit.ts"
import { InvalidUsage, type Options } from "./Options.ts"
import { document, documentOfAll, type Ran, summaryRows, worst } from "./Report.ts"
import { expand, isOneFile } from "./ScriptFiles.ts"
import type { InvalidScript } from "./ScriptProblem.ts"
import type { Session } from "./Session.ts"
import type { VoiceClient } from "./VoiceClient.ts"

/** Options of a run of scripts. */
export type RunsOptions = RunSettings & Pick<Options, "scripts" | "junit" | "parallel">

/** A script that was not played. */
const left = (file: string, result: Ran["result"], exit_code: number, error: string, of?: Playable): Ran => ({
  file,
  name: of?.script.name,
  result,
  outcome: { exit_code, error, step: null },
  steps: of?.script.steps.length ?? null,
  call: null,
  duration_ms: 0,
  output: []
})

/** Checks that a file can be written before any call is made. */
const checkWritable = (file: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = path.dirname(path.resolve(file))
    yield* fs.access(folder, { writable: true })
    const isFolder = (at: string) =>
      Effect.orElseSucceed(
        Effect.map(fs.stat(at), ({ type }) => type === "Directory"),
        () => false
      )
    if (!(yield* isFolder(folder)) || (yield* isFolder(file))) return yield* Effect.fail("not a file in a folder")
  }).pipe(
    Effect.mapError(
      () => new InvalidUsage({ message: `--junit ${file} cannot be written: name a file in a folder that exists` })
    )
  )

/**
 * Plays scripts, each on a phone of its own, prints a report and succeeds with the exit code. All scripts are read first:
 * if one is invalid none is played. When the server is away after a script, the others are not run. The report is also
 * printed when the run is interrupted.
 */
export const runAll = Effect.fn("ScriptRuns.runAll")(function* (
  options: RunsOptions,
  phone: Layer.Layer<Session | VoiceClient>
) {
  const { json } = options
  if (options.junit !== undefined) yield* checkWritable(options.junit)
  const expanded = yield* Effect.either(expand(options.scripts))
  if (expanded._tag === "Left") {
    const [given = ""] = options.scripts
    const { file = given, message } = expanded.left
    if (json) yield* Console.log(document(left(file, "invalid", exitCodes.usage, message)))
    yield* Console.error(`failed: ${message}`)
    return exitCodes.usage
  }
  const files = expanded.right
  const one = isOneFile(options.scripts, files)
  const started_at = yield* Clock.currentTimeMillis
  const fs = yield* FileSystem.FileSystem
  const all = new Map<string, Ran>()
  const resultsSoFar = (why: string, exit_code: number): ReadonlyArray<Ran> =>
    files.map((file) => all.get(file) ?? left(file, "not-run", exit_code, why, playables.get(file)))
  const playables = new Map<string, Playable>()

  const writeJUnit = (why: string, exit_code: number) =>
    Effect.gen(function* () {
      if (options.junit === undefined) return
      const now = yield* Clock.currentTimeMillis
      yield* fs
        .writeFileString(options.junit, junit(resultsSoFar(why, exit_code), started_at, now - started_at))
        .pipe(Effect.catchAll((error) => Console.error(`failed: ${options.junit} was not written: ${error.message}`)))
    })
  /** Prints what is not printed yet. */
  const finish = (why: string, exit_code: number) =>
    Effect.gen(function* () {
      const results = resultsSoFar(why, exit_code)
      yield* writeJUnit(why, exit_code)
      const duration_ms = (yield* Clock.currentTimeMillis) - started_at
      const [only] = results
      if (json) yield* Console.log(one && only !== undefined ? document(only) : documentOfAll(results, duration_ms))
      else if (!one) yield* Effect.forEach(["", ...summaryRows(results)], (row) => Console.log(row), { discard: true })
      return worst(results)
    })

  const problems: Array<InvalidScript> = []
  for (const file of files) {
    const loaded = yield* Effect.either(load(options, file))
    if (loaded._tag === "Right") playables.set(file, loaded.right)
    else {
      problems.push(loaded.left)
      all.set(file, left(file, "invalid", exitCodes.usage, loaded.left.message))
    }
  }
  if (problems.length > 0) {
    for (const { message } of problems) yield* Console.error(`failed: ${message}`)
    return yield* finish("another script is invalid", exitCodes.usage)
  }

  /** Why no more scripts are played. */
  let stopped: string | undefined
  const isOrdered = options.parallel === 1
  const title = (file: string, script: Playable) =>
    one ? Effect.void : Console.log(`\n▶ ${file}${script.script.name === undefined ? "" : `: ${script.script.name}`}`)

  const playFile = (file: string, script: Playable) =>
    Effect.gen(function* () {
      if (stopped !== undefined) return
      const isLive = isOrdered && !json
      if (isLive) yield* title(file, script)
      const ran = yield* playOne(options, script, isLive ? (row) => Console.log(row) : () => Effect.void, (done) =>
        Effect.gen(function* () {
          all.set(file, done)
          if (!isLive && !json) {
            yield* title(file, script)
            yield* Effect.forEach(done.output, (row) => Console.log(row), { discard: true })
          }
          // With --json no line above says which script it is.
          const which = json && !one ? `${file}: ` : ""
          if (done.outcome.error !== null) yield* Console.error(`failed: ${which}${done.outcome.error}`)
          yield* writeJUnit("not run yet", exitCodes.failed)
        })
      ).pipe(Effect.provide(phone))
      if (ran.result !== "unavailable" || stopped !== undefined) return
      // What failed may have been about this script alone.
      stopped = yield* connected.pipe(
        Effect.provide(phone),
        Effect.match({ onFailure: ({ message }) => message, onSuccess: () => undefined })
      )
    })

  yield* Effect.forEach(playables, ([file, script]) => playFile(file, script), {
    concurrency: options.parallel,
    discard: true
  }).pipe(Effect.onInterrupt(() => finish("interrupted", exitCodes.interrupted)))
  return yield* finish(stopped ?? "not run", exitCodes.server)
})

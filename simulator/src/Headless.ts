import { FileSystem } from "@effect/platform"
import { E164 } from "@svc/api/Wire"
import { Console, Duration, Effect, Fiber, Option, Schema, Stream } from "effect"
import { exitCodes } from "./ExitCode.ts"
import { defaultFrom, type Options } from "./Options.ts"
import { document, LiveReport, type Outcome, recordRows } from "./Report.ts"
import { InvalidScript, parse, type Script } from "./Script.ts"
import { play, ServerUnavailable } from "./ScriptRunner.ts"
import { Session } from "./Session.ts"
import { VoiceClient } from "./VoiceClient.ts"

const connectTimeout = Duration.seconds(6)
const isNumber = Schema.is(E164)

const readScript = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(path)).pipe(
    Effect.mapError(() => new InvalidScript({ problems: [`cannot read ${path}`] })),
    Effect.flatMap(parse),
    Effect.mapError((error) => new InvalidScript({ problems: error.problems.map((p) => `${path}: ${p}`) }))
  )

/** The number to dial and the caller's number. The command line overrides the script. */
const parties = (options: Pick<Options, "to" | "from">, script: Script) => {
  const to = options.to ?? script.to
  const from = options.from ?? script.from ?? defaultFrom
  if (to === undefined) return new InvalidScript({ problems: ["no number to dial: give --to, or `to` in the script"] })
  const wrong = [to, from, script.receive].find((number) => number !== undefined && !isNumber(number))
  if (wrong !== undefined) return new InvalidScript({ problems: [`"${wrong}" is not a valid E.164 phone number`] })
  return Effect.succeed({ to, from })
}

/** Waits for the connection to the network. */
const connected = Effect.gen(function* () {
  const session = yield* Session
  const problem = yield* session
    .until(({ connection }) =>
      connection.status === "connecting"
        ? Option.none()
        : Option.some(connection.status === "away" ? `the server is away: ${connection.reason}` : null)
    )
    .pipe(
      Effect.timeoutTo({ duration: connectTimeout, onSuccess: (p) => p, onTimeout: () => "the server does not answer" })
    )
  if (problem !== null) return yield* new ServerUnavailable({ message: problem })
})

const checkKey = Effect.flatMap(VoiceClient, (client) => client.numbers).pipe(
  Effect.catchAll((error) => new ServerUnavailable({ message: error.message }))
)

/** The options of a scripted run. `script` is the path of a file or a parsed script. */
export interface RunOptions extends Pick<Options, "to" | "from" | "key" | "json" | "timeout"> {
  readonly script: string | Script
}

/** Plays a script, prints a report and succeeds with the exit code. When interrupted, it hangs up. */
export const run = Effect.fn("Headless.run")(function* (options: RunOptions) {
  const session = yield* Session
  let name: string | undefined
  const live = new LiveReport()
  const print = options.json ? () => Effect.void : (row: string) => Console.log(row)
  const report = Effect.flatMap(session.state, (state) => Effect.forEach(live.next(state), print, { discard: true }))

  const attempt = Effect.gen(function* () {
    const script = typeof options.script === "string" ? yield* readScript(options.script) : options.script
    name = script.name
    const { from, to } = yield* parties(options, script)
    yield* connected
    if (options.key !== null) yield* checkKey
    const printer = yield* Effect.fork(Stream.runForEach(session.changes, () => report))
    yield* play(script, to, from).pipe(Effect.ensuring(Fiber.interrupt(printer)))
  }).pipe(Effect.timeoutOption(Duration.seconds(options.timeout)))

  const outcome: Outcome = yield* attempt.pipe(
    Effect.map(
      (done): Outcome =>
        Option.isSome(done)
          ? { exit_code: exitCodes.ok, error: null, step: null }
          : { exit_code: exitCodes.failed, error: `the run took longer than ${options.timeout} s`, step: null }
    ),
    Effect.catchTags({
      StepFailed: (e) =>
        Effect.succeed<Outcome>({
          exit_code: exitCodes.failed,
          error: `step ${e.step}, ${e.what}: ${e.message}`,
          step: e.step
        }),
      InvalidScript: (e) => Effect.succeed<Outcome>({ exit_code: exitCodes.usage, error: e.message, step: null }),
      ServerUnavailable: (e) => Effect.succeed<Outcome>({ exit_code: exitCodes.server, error: e.message, step: null })
    })
  )
  if (outcome.exit_code !== exitCodes.usage) yield* report

  const { call } = yield* session.state
  if (options.json) yield* Console.log(document(outcome, name, call))
  else {
    if (call?.record)
      yield* Effect.forEach(["", ...recordRows(call.record, call.debug_url), ""], print, { discard: true })
    else if (call !== null) yield* Console.log("\nNo call record (no key was given, or the call has none).")
    if (outcome.exit_code === exitCodes.ok) yield* Console.log(`ok: ${name ?? "the call"} went as expected`)
  }
  if (outcome.error !== null) yield* Console.error(`failed: ${outcome.error}`)
  return outcome.exit_code
})

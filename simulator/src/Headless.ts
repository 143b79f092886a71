import type { FileSystem } from "@effect/platform"
import { E164 } from "@svc/api/Wire"
import { Cause, Clock, Console, Duration, Effect, Exit, Fiber, Option, Schema, Stream } from "effect"
import { exitCodes } from "./ExitCode.ts"
import { defaultFrom, type Options } from "./Options.ts"
import { document, LiveReport, type Outcome, type Ran, recordRows } from "./Report.ts"
import { parse, type Script } from "./Script.ts"
import { readText } from "./ScriptFiles.ts"
import { type InvalidScript, invalid } from "./ScriptProblem.ts"
import { play, ServerUnavailable, type StepFailed } from "./ScriptRunner.ts"
import type { Step } from "./ScriptSteps.ts"
import { Session } from "./Session.ts"
import { printable } from "./ui/TextWrap.ts"
import { VoiceClient } from "./VoiceClient.ts"

const connectTimeout = Duration.seconds(6)
const isNumber = Schema.is(E164)

/** What applies to every script of a run. `timeout`: seconds of one script. */
export type RunSettings = Pick<Options, "to" | "from" | "key" | "json" | "timeout">

/** A script that can be played: its numbers are known. */
export interface Playable {
  readonly file: string | null
  readonly script: Script
  readonly to: string
  readonly from: string
}

/** The steps that read facts of the call from the API. */
const needsKey = (step: Step): boolean => "expect_tool" in step || "expect_event" in step || "expect_latency" in step

/** Checks what a script does not say by itself. The command line overrides its numbers. */
export const playable = (
  settings: RunSettings,
  script: Script,
  file?: string
): Effect.Effect<Playable, InvalidScript> => {
  const to = settings.to ?? script.to
  const from = settings.from ?? script.from ?? defaultFrom
  if (to === undefined) return invalid("no number to dial: give --to, or `to` in the script", file)
  const wrong = [to, from, script.receive].find((number) => number !== undefined && !isNumber(number))
  if (wrong !== undefined) return invalid(`"${wrong}" is not a valid E.164 phone number`, file)
  const step = script.steps.findIndex(needsKey)
  if (step >= 0 && settings.key === null) {
    return invalid(`step ${step + 1} reads the call from the API: set SVC_KEY to a project key, or use --key`, file)
  }
  return Effect.succeed({ file: file ?? null, script, to, from })
}

/** Reads and checks a script. */
export const load = (
  settings: RunSettings,
  file: string
): Effect.Effect<Playable, InvalidScript, FileSystem.FileSystem> =>
  readText(file).pipe(
    Effect.flatMap((text) => parse(text, file)),
    Effect.flatMap((script) => playable(settings, script, file))
  )

/** Waits for the connection to the network. */
export const connected = Effect.gen(function* () {
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

type Ended = Exit.Exit<Option.Option<void>, StepFailed | ServerUnavailable>

/** Undefined for a defect. */
const outcomeOf = (exit: Ended, timeout: number): readonly [Ran["result"], Outcome] | undefined => {
  const failed = (result: Ran["result"], exit_code: number, error: string, step: number | null = null) =>
    [result, { exit_code, error, step }] as const
  if (Exit.isSuccess(exit)) {
    if (Option.isSome(exit.value)) return ["ok", { exit_code: exitCodes.ok, error: null, step: null }]
    return failed("failed", exitCodes.failed, `the run took longer than ${timeout} s`)
  }
  if (Cause.isInterruptedOnly(exit.cause)) return failed("interrupted", exitCodes.interrupted, "interrupted")
  const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (error === undefined) return undefined
  if (error._tag === "ServerUnavailable") return failed("unavailable", exitCodes.server, error.message)
  const { message, step, what } = error
  return failed("failed", exitCodes.failed, `step ${step}, ${what}: ${message}`, step)
}

/**
 * Plays a script on a session. `print` gets each row as soon as it is known; `done` the result, also when the run is
 * interrupted, after the call was hung up.
 */
export const playOne = (
  settings: RunSettings,
  { file, from, script, to }: Playable,
  print: (row: string) => Effect.Effect<void>,
  done: (ran: Ran) => Effect.Effect<void>
): Effect.Effect<Ran, never, Session | VoiceClient> =>
  Effect.gen(function* () {
    const session = yield* Session
    const started_at = yield* Clock.currentTimeMillis
    const live = new LiveReport()
    const output: Array<string> = []
    const emit = (text: string) => {
      const row = printable(text)
      output.push(row)
      return print(row)
    }
    const report = Effect.flatMap(session.state, (state) => Effect.forEach(live.next(state), emit, { discard: true }))
    const attempt = Effect.gen(function* () {
      yield* connected
      if (settings.key !== null) yield* checkKey
      const printer = yield* Effect.fork(Stream.runForEach(session.changes, () => report))
      yield* play(script, to, from).pipe(Effect.ensuring(Fiber.interrupt(printer)))
    }).pipe(Effect.timeoutOption(Duration.seconds(settings.timeout)))

    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(restore(attempt))
        const ended = outcomeOf(exit, settings.timeout)
        if (ended === undefined) return yield* Effect.die(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit)
        const [result, outcome] = ended
        yield* report
        const { call } = yield* session.state
        if (call !== null) {
          const rows =
            call.record === null
              ? ["", "No call record (no key was given, or the call has none)."]
              : ["", ...recordRows(call.record, call.debug_url), ""]
          yield* Effect.forEach(rows, emit, { discard: true })
        }
        if (result === "ok") yield* emit(`ok: ${script.name ?? "the call"} went as expected`)
        const duration_ms = (yield* Clock.currentTimeMillis) - started_at
        const steps = script.steps.length
        const ran: Ran = { file, name: script.name, result, outcome, steps, call, duration_ms, output }
        yield* done(ran)
        return result === "interrupted" ? yield* Effect.interrupt : ran
      })
    )
  })

/** Plays a script, prints a report and succeeds with the exit code. When interrupted, it hangs up. */
export const run = Effect.fn("Headless.run")(function* (options: RunSettings & { readonly script: Script }) {
  const checked = yield* Effect.either(playable(options, options.script))
  if (checked._tag === "Left") {
    yield* Console.error(`failed: ${checked.left.message}`)
    return exitCodes.usage
  }
  const print = options.json ? () => Effect.void : (row: string) => Console.log(row)
  const done = (ran: Ran) =>
    Effect.gen(function* () {
      if (options.json) yield* Console.log(document(ran))
      if (ran.outcome.error !== null) yield* Console.error(`failed: ${ran.outcome.error}`)
    })
  return (yield* playOne(options, checked.right, print, done)).outcome.exit_code
})

import { parseArgs } from "node:util"
import { E164 } from "@svc/api/Wire"
import { Config, Data, Effect, Either, Option, Redacted, Schema } from "effect"

/** The command line is invalid; the message states why. */
export class InvalidUsage extends Data.TaggedError("InvalidUsage")<{ readonly message: string }> {}

export interface Options {
  readonly url: string
  readonly key: Redacted.Redacted | null
  /** The caller's number, E.164. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Paths of scripts, folders and patterns. Without any the terminal simulator opens. */
  readonly scripts: ReadonlyArray<string>
  /** The file for a report in the form of JUnit. */
  readonly junit: string | undefined
  /** How many scripts are played at once. */
  readonly parallel: number
  readonly json: boolean
  /** The time limit of each script in seconds. */
  readonly timeout: number
  readonly help: boolean
}

export const usage = `Usage: npm run simulate -- [scripts] [options]

Without scripts: opens the simulator, a telephone in the terminal.
With scripts: plays scripted calls, prints a report and exits. A script is a YAML file, a folder of them, or a pattern
such as "calls/**/*.yaml"; docs/simulator.md describes them.

  --to <number>     number to dial, E.164 (or "to" in the script)
  --script <file>   a script, folder or pattern; may be repeated
  --json            print one JSON document on stdout and nothing else there
  --junit <file>    write a report in the form of JUnit as well
  --parallel <n>    play so many scripts at once, 1 to 32, default 1
  --url <url>       server, default http://127.0.0.1:8787 (or SVC_URL)
  --key <key>       project key (or SVC_KEY)
  --from <number>   number of the caller, default +15550100200 (or "from" in the script)
  --timeout <s>     time limit of each script in seconds, default 300
  --help

Exit codes: 0 as expected, 1 an expectation was not met, 2 invalid arguments or script, 3 the server cannot be reached
or refuses, 130 interrupted. Of several scripts the most serious one counts.`

/** The caller's number by default. */
export const defaultFrom = "+15550100200"

const isNumber = Schema.is(E164)

/** Parses the arguments. `SVC_URL` and `SVC_KEY` replace missing ones. */
export const parse = (args: ReadonlyArray<string>): Effect.Effect<Options, InvalidUsage> =>
  Effect.gen(function* () {
    const { positionals, values } = yield* Effect.try({
      try: () =>
        parseArgs({
          args: [...args],
          strict: true,
          allowPositionals: true,
          options: {
            to: { type: "string" },
            from: { type: "string" },
            script: { type: "string", multiple: true },
            junit: { type: "string" },
            parallel: { type: "string" },
            json: { type: "boolean", default: false },
            url: { type: "string" },
            key: { type: "string" },
            timeout: { type: "string" },
            help: { type: "boolean", default: false }
          }
        }),
      catch: (error) => new InvalidUsage({ message: error instanceof Error ? error.message : "wrong arguments" })
    })
    const environment = yield* Config.all({
      url: Config.option(Config.string("SVC_URL")),
      key: Config.option(Config.string("SVC_KEY"))
    }).pipe(Effect.mapError((error) => new InvalidUsage({ message: String(error) })))

    const url = values.url ?? Option.getOrElse(environment.url, () => "http://127.0.0.1:8787")
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      return yield* new InvalidUsage({ message: `--url must be an http or https URL, not "${url}"` })
    }
    for (const name of ["to", "from"] as const) {
      const value = values[name]
      if (value !== undefined && !isNumber(value)) {
        return yield* new InvalidUsage({ message: `--${name} must be a valid E.164 phone number, e.g. +15550100100` })
      }
    }
    const timeout = yield* Schema.decodeUnknownEither(Schema.NumberFromString.pipe(Schema.between(0.1, 86_400)))(
      values.timeout ?? "300"
    ).pipe(Either.mapLeft(() => new InvalidUsage({ message: "--timeout must be a number of seconds" })))
    const parallel = yield* Schema.decodeUnknownEither(
      Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 32))
    )(values.parallel ?? "1").pipe(
      Either.mapLeft(() => new InvalidUsage({ message: "--parallel must be a whole number from 1 to 32" }))
    )
    const scripts = [...(values.script ?? []), ...positionals]
    if (scripts.includes("")) return yield* new InvalidUsage({ message: "the name of a script is empty" })
    for (const name of ["json", "junit", "parallel"] as const) {
      const isGiven = values[name] !== undefined && values[name] !== false
      if (isGiven && scripts.length === 0) return yield* new InvalidUsage({ message: `--${name} needs a script` })
    }
    const key = values.key ?? Option.getOrUndefined(environment.key)
    return {
      url: new URL(url).origin,
      key: key === undefined || key === "" ? null : Redacted.make(key),
      from: values.from,
      to: values.to,
      scripts,
      junit: values.junit,
      parallel,
      json: values.json,
      timeout,
      help: values.help
    }
  })

import { parseArgs } from "node:util"
import { E164 } from "@svc/api/Wire"
import { Config, Data, Effect, Either, Option, Redacted, Schema } from "effect"

/** The command line is wrong; the message says how. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}

export interface Options {
  readonly url: string
  readonly key: Redacted.Redacted | null
  /** Who calls, E.164. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Path of the script; without one the terminal simulator opens. */
  readonly script: string | undefined
  readonly json: boolean
  /** Seconds for the whole run. */
  readonly timeout: number
  readonly help: boolean
}

export const usage = `Usage: npm run simulate -- [options]

Without --script: opens the simulator, a telephone in the terminal.
With --script: plays a scripted call and exits.

  --to <number>     number to dial, E.164 (or "to" in the script)
  --script <file>   YAML script of a call
  --json            print one JSON document on stdout and nothing else there
  --url <url>       server, default http://127.0.0.1:8787 (or SVC_URL)
  --key <key>       project key (or SVC_API_KEY)
  --from <number>   number of the caller, default +15550100200 (or "from" in the script)
  --timeout <s>     longest time for the whole run, default 300
  --help

Exit codes: 0 as expected, 1 an expectation was not met, 2 wrong usage or script, 3 the server cannot be reached or
refuses, 130 interrupted.`

/** Who calls when nobody says who. */
export const defaultFrom = "+15550100200"

const isNumber = Schema.is(E164)

/** Reads the arguments, and `SVC_URL` and `SVC_API_KEY` where they say nothing. */
export const parse = (args: ReadonlyArray<string>): Effect.Effect<Options, WrongUsage> =>
  Effect.gen(function* () {
    const { values } = yield* Effect.try({
      try: () =>
        parseArgs({
          args: [...args],
          strict: true,
          allowPositionals: false,
          options: {
            to: { type: "string" },
            from: { type: "string" },
            script: { type: "string" },
            json: { type: "boolean", default: false },
            url: { type: "string" },
            key: { type: "string" },
            timeout: { type: "string" },
            help: { type: "boolean", default: false }
          }
        }),
      catch: (error) => new WrongUsage({ message: error instanceof Error ? error.message : "wrong arguments" })
    })
    const environment = yield* Config.all({
      url: Config.option(Config.string("SVC_URL")),
      key: Config.option(Config.string("SVC_API_KEY"))
    }).pipe(Effect.mapError((error) => new WrongUsage({ message: String(error) })))

    const url = values.url ?? Option.getOrElse(environment.url, () => "http://127.0.0.1:8787")
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      return yield* new WrongUsage({ message: `--url must be an http or https URL, not "${url}"` })
    }
    for (const name of ["to", "from"] as const) {
      const value = values[name]
      if (value !== undefined && !isNumber(value)) {
        return yield* new WrongUsage({ message: `--${name} must be a valid E.164 phone number, e.g. +15550100100` })
      }
    }
    const timeout = yield* Schema.decodeUnknownEither(Schema.NumberFromString.pipe(Schema.between(0.1, 86_400)))(
      values.timeout ?? "300"
    ).pipe(Either.mapLeft(() => new WrongUsage({ message: "--timeout must be a number of seconds" })))
    if (values.json && values.script === undefined) {
      return yield* new WrongUsage({ message: "--json needs a --script" })
    }
    const key = values.key ?? Option.getOrUndefined(environment.key)
    return {
      url: new URL(url).origin,
      key: key === undefined || key === "" ? null : Redacted.make(key),
      from: values.from,
      to: values.to,
      script: values.script,
      json: values.json,
      timeout,
      help: values.help
    }
  })

import * as fs from "node:fs/promises"
import * as path from "node:path"
import { Bootstrap, type BootstrapKey, type BootstrapResult } from "@svc/auth/Bootstrap"
import { dataDir } from "@svc/database/Database"
import { makeFolder } from "@svc/database/Folders"
import { type ConfigError, Console, Context, Data, Effect, Layer, Redacted } from "effect"
import { isOutputCollected } from "./Logging.ts"

type Created = Extract<BootstrapResult, { readonly created: true }>

const line = (name: string, { generated, key }: BootstrapKey, variable: string): string =>
  `  ${name.padEnd(14)} ${generated ? Redacted.value(key) : `as given in ${variable}`}`

const keyLines = ({ keys }: Created): ReadonlyArray<string> => [
  line("project key", keys.project, "SVC_BOOTSTRAP_PROJECT_KEY"),
  line("org key", keys.org, "SVC_BOOTSTRAP_ORG_KEY"),
  line("workspace key", keys.workspace, "SVC_BOOTSTRAP_WORKSPACE_KEY")
]

const made = ({ org, project }: Created): string =>
  `First start: made organization ${org.public_id} with project ${project.public_id}.`

class NotWritten extends Data.TaggedError("NotWritten")<{ readonly reason: string }> {}

/** Writes the keys to a file that only this user can read, in the place of one of an earlier database. */
const write = (file: string, text: string): Effect.Effect<void, NotWritten> =>
  Effect.tryPromise({
    try: () =>
      makeFolder(path.dirname(file), 0o700)
        .then(() => fs.rm(file, { force: true }))
        .then(() => fs.writeFile(file, text, { flag: "wx", mode: 0o600 })),
    catch: (cause) => new NotWritten({ reason: cause instanceof Error ? cause.message : String(cause) })
  })

/**
 * Shows the generated keys once, because only their hashes are stored. With `SVC_LOG_FORMAT=json` the output goes to a
 * collector, which keeps it: the keys go to a file.
 */
const announce = (created: Created) =>
  Effect.gen(function* () {
    if (!(yield* isOutputCollected)) {
      const hint = "Its keys; note them now, they are not shown again:"
      return yield* Console.log(["", made(created), hint, "", ...keyLines(created), ""].join("\n"))
    }
    const file = path.resolve(yield* dataDir, "first-start-keys")
    yield* write(
      file,
      `${[made(created), "Note these keys and delete this file.", "", ...keyLines(created)].join("\n")}\n`
    ).pipe(
      Effect.zipRight(Console.log(`${made(created)} Its keys are in ${file}: note them and delete the file.`)),
      Effect.catchTag("NotWritten", ({ reason }) =>
        Console.log(`${made(created)} Its keys could not be stored (${reason}): make others with svc keys create.`)
      )
    )
  })

/** Whether this start found an empty database, and what it created then. */
export class FirstStart extends Context.Tag("@svc/server/FirstStart")<FirstStart, BootstrapResult>() {
  /** Creates the first organization if there is none. Shows its keys at once, so that a later failure does not lose them. */
  static readonly layer: Layer.Layer<FirstStart, ConfigError.ConfigError, Bootstrap> = Layer.effect(
    FirstStart,
    Effect.gen(function* () {
      const result = yield* (yield* Bootstrap).run
      if (result.created && Object.values(result.keys).some(({ generated }) => generated)) yield* announce(result)
      return result
    })
  )
}

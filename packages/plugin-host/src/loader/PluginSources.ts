import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { PluginError } from "@svc/providers/Plugin"
import { Config, Data, Effect, Option, ParseResult, Schema } from "effect"

/** The file that names the plugins when `SVC_PLUGINS` is not set, and has settings of plugins. */
export const configFile = "svc.config.json"

const Value = Schema.Union(Schema.String, Schema.Number, Schema.Boolean)

/** The settings of plugins in the file: plugin's name → setting → value. A list is as a text with commas. */
const FileSettings = Schema.Record({
  key: Schema.String,
  value: Schema.Record({
    key: Schema.String,
    value: Schema.Union(Value, Schema.Array(Value)).annotations({
      message: () => ({ message: "Expected a text, a number, true, false, or a list of them", override: true })
    })
  })
})
export type FileSettings = typeof FileSettings.Type

const ConfigFile = Schema.parseJson(
  Schema.Struct({
    plugins: Schema.optionalWith(Schema.Array(Schema.NonEmptyTrimmedString), { default: () => [] }),
    settings: Schema.optionalWith(FileSettings, { default: () => ({}) })
  })
)

const decodeFile = Schema.decode(ConfigFile)

/** The fields of the file. */
const knownFields = ["plugins", "settings"]

const AnyFields = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** A field that is misspelt would have no effect, and nobody would see it. */
const warnOfUnknownFields = (text: string): Effect.Effect<void> => {
  const fields = Object.keys(Option.getOrElse(Schema.decodeOption(AnyFields)(text), () => ({})))
  const unknown = fields.filter((field) => !knownFields.includes(field) && field !== "$schema")
  return unknown.length === 0
    ? Effect.void
    : Effect.logWarning(
        `${configFile} has ${unknown.join(", ")}, which has no effect; its fields are ${knownFields.join(", ")}`
      )
}

const readConfigFile = (path: string): Effect.Effect<Option.Option<string>, PluginError> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) => new Unreadable({ code: codeOf(cause), reason: String(cause) })
  }).pipe(
    Effect.map(Option.some),
    Effect.catchAll(({ code, reason }) =>
      code === "ENOENT"
        ? Effect.succeed(Option.none())
        : Effect.fail(new PluginError({ plugin: configFile, reason: `cannot be read: ${reason}` }))
    )
  )

class Unreadable extends Data.TaggedError("Unreadable")<{ readonly code: string; readonly reason: string }> {}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

/** The first error in the file, in one line. */
const fileProblem = (error: ParseResult.ParseError): string => {
  const issue = ParseResult.ArrayFormatter.formatErrorSync(error)[0]
  if (issue === undefined) return "is not valid"
  const path = issue.path.join(".")
  return path === "" ? `is not a JSON object { "plugins": [...], "settings": {...} }` : `${path}: ${issue.message}`
}

/** What to load, and the settings in the file. */
export interface PluginSources {
  readonly sources: ReadonlyArray<string>
  readonly settings: FileSettings
}

/**
 * The packages and paths to load, in order of preference: from `SVC_PLUGINS` (comma-separated), else from
 * `svc.config.json` in `directory`, else `defaults`; and the settings of plugins in that file. An empty variable counts as
 * not set.
 */
export const pluginSources = Effect.fn("PluginSources.read")(function* (
  directory: string,
  defaults: ReadonlyArray<string>
) {
  const variable = yield* Config.string("SVC_PLUGINS").pipe(
    Config.withDefault(""),
    Effect.mapError(() => new PluginError({ plugin: "SVC_PLUGINS", reason: "cannot be read" }))
  )
  const named = variable
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
  const text = yield* readConfigFile(join(directory, configFile))
  const file = Option.isNone(text)
    ? undefined
    : yield* decodeFile(text.value).pipe(
        Effect.mapError((error) => new PluginError({ plugin: configFile, reason: fileProblem(error) }))
      )
  if (Option.isSome(text)) yield* warnOfUnknownFields(text.value)
  const found: PluginSources = {
    sources: named.length > 0 ? named : (file?.plugins ?? defaults),
    settings: file?.settings ?? {}
  }
  return found
})

import { type Capabilities, type Plugin, PluginError } from "@svc/providers/Plugin"
import { Config, Effect, ParseResult, Schema, SchemaAST } from "effect"
import { configFile, type FileSettings } from "./PluginSources.ts"

const upperSnake = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toUpperCase()

/** The environment variable of a plugin's setting: `deepgram`, `apiKey` → `SVC_DEEPGRAM_API_KEY`. */
export const variableName = (plugin: string, field: string): string => `SVC_${upperSnake(plugin)}_${upperSnake(field)}`

const fields = (plugin: Plugin): ReadonlyArray<string> =>
  SchemaAST.getPropertySignatures(SchemaAST.encodedAST(plugin.config.ast)).flatMap(({ name }) =>
    typeof name === "string" ? [name] : []
  )

/** What a value must be, without the value itself: it may be a secret, and this text is logged. */
const requirement = (message: string): string =>
  message
    .replace(/,? ?\bactual .*$/s, "")
    .replace(/^Expected /, "must be ")
    .trim()

/** Where a setting stands: its variable, or its path in the file. */
const placeOf = (plugin: Plugin, field: string, inFile: ReadonlySet<string>): string =>
  inFile.has(field) ? `settings.${plugin.name}.${field} in ${configFile}` : variableName(plugin.name, field)

/** That a setting may be absent is no advice to an operator who has set it. */
const absent = "undefined"
const must = "must be "

/**
 * What a setting must be. The schema's error has a message for each way in which the value could be right: `must be
 * "true"` and `must be "false"` are `must be true or false`.
 */
const requirementOf = (messages: ReadonlyArray<string>): string => {
  const all = [...new Set(messages.map(requirement))]
  const chosen = all.filter((text) => text !== must + absent)
  const values = chosen.flatMap((text) => /^must be "([^"]*)"$/.exec(text)?.[1] ?? [])
  if (values.length < 2) return chosen.length === 0 ? "must not be set" : chosen.join(" or ")
  const others = chosen.filter((text) => !/^must be "[^"]*"$/.test(text))
  return [...others, `${must}${values.slice(0, -1).join(", ")} or ${values.at(-1)}`].join(" or ")
}

const problem = (plugin: Plugin, error: ParseResult.ParseError, inFile: ReadonlySet<string>): string => {
  const issues = ParseResult.ArrayFormatter.formatErrorSync(error).map(({ _tag, message, path }) => ({
    place: typeof path[0] === "string" ? placeOf(plugin, path[0], inFile) : "its configuration",
    isMissing: _tag === "Missing",
    path: path.join("."),
    message
  }))
  const lines = issues.map(({ isMissing, path, place }) =>
    isMissing
      ? `${place} is not set`
      : `${place} ${requirementOf(issues.filter((issue) => issue.path === path).map(({ message }) => message))}`
  )
  return [...new Set(lines)].join("; ")
}

/** The setting of every plugin that chooses among its capabilities. */
const choice = "provides"

/** The capabilities by the names that `SVC_<NAME>_PROVIDES` has. */
export const capabilityNames: { readonly [K in keyof Capabilities]-?: string } = {
  telephony: "telephony",
  speechToText: "speech-to-text",
  textToSpeech: "text-to-speech",
  languageModel: "language-model",
  voiceActivity: "voice-activity",
  embedding: "embedding",
  objectStore: "object-store"
}

const isCapability = (key: string): key is keyof Capabilities => key in capabilityNames

/** What the operator wants of a plugin; undefined: all that it provides. */
const wanted = (plugin: Plugin, text: string, place: string) =>
  Effect.forEach(
    text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()])),
    (name) => {
      const found = Object.keys(capabilityNames).find((key) => isCapability(key) && capabilityNames[key] === name)
      return found !== undefined && isCapability(found)
        ? Effect.succeed(found)
        : new PluginError({
            plugin: plugin.name,
            reason: `${place} has "${name}"; it is a list of ${Object.values(capabilityNames).join(", ")}`
          })
    }
  )

/** The settings of a plugin. */
export interface PluginSettings {
  readonly config: unknown
  /** The capabilities to which the operator limits it; undefined: no limit. */
  readonly only: ReadonlyArray<keyof Capabilities> | undefined
}

/**
 * Reads and decodes a plugin's settings through the current ConfigProvider: field `someKey` from `SVC_<NAME>_SOME_KEY`,
 * else from `settings.<name>.someKey` in the file. An empty variable counts as not set. The error names each missing or
 * invalid setting, and those in the file that the plugin does not have.
 */
export const pluginConfig = Effect.fn("PluginConfig.read")(function* (plugin: Plugin, settings: FileSettings) {
  const file = Object.hasOwn(settings, plugin.name) ? (settings[plugin.name] ?? {}) : {}
  const known = fields(plugin)
  const unknown = Object.keys(file).filter((field) => field !== choice && !known.includes(field))
  if (unknown.length > 0) {
    return yield* new PluginError({
      plugin: plugin.name,
      reason: `settings.${plugin.name} in ${configFile} has ${unknown.join(", ")}; the settings of this plugin are ${[...known.filter((field) => field !== choice), choice].join(", ")}`
    })
  }
  const inFile = new Set<string>()
  const values: Record<string, string> = {}
  for (const field of new Set([...known, choice])) {
    const variable = yield* Config.string(variableName(plugin.name, field)).pipe(Effect.orElseSucceed(() => ""))
    const written = Object.hasOwn(file, field) ? file[field] : undefined
    if (variable !== "") values[field] = variable
    else if (written !== undefined) {
      inFile.add(field)
      values[field] = String(written)
    }
  }
  const encoded = Object.fromEntries(Object.entries(values).filter(([field]) => known.includes(field)))
  const config = yield* Schema.decode(plugin.config, { errors: "all" })(encoded).pipe(
    Effect.mapError((error) => new PluginError({ plugin: plugin.name, reason: problem(plugin, error, inFile) })),
    Effect.sandbox,
    Effect.mapError((cause) =>
      cause._tag === "Fail"
        ? cause.error
        : new PluginError({ plugin: plugin.name, reason: "its configuration schema failed to decode" })
    )
  )
  const chosen = values[choice]
  const only = chosen === undefined ? undefined : yield* wanted(plugin, chosen, placeOf(plugin, choice, inFile))
  const read: PluginSettings = { config, only }
  return read
})

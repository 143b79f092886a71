import { type Plugin, PluginError } from "@svc/providers/Plugin"
import { Config, Effect, ParseResult, Schema, SchemaAST } from "effect"

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

const problem = (plugin: Plugin, error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ _tag, message, path }) => {
      const variable = typeof path[0] === "string" ? variableName(plugin.name, path[0]) : "its configuration"
      return _tag === "Missing" ? `${variable} is not set` : `${variable} ${requirement(message)}`
    })
    .filter((line, index, all) => all.indexOf(line) === index)
    .join("; ")

/**
 * Reads and decodes a plugin's settings through the current ConfigProvider: field `someKey` from `SVC_<NAME>_SOME_KEY`.
 * An empty variable counts as not set. The error names each missing or invalid variable.
 */
export const pluginConfig = Effect.fn("PluginConfig.read")(function* (plugin: Plugin) {
  const encoded: Record<string, string> = {}
  for (const field of fields(plugin)) {
    const value = yield* Config.string(variableName(plugin.name, field)).pipe(Effect.orElseSucceed(() => ""))
    if (value !== "") encoded[field] = value
  }
  return yield* Schema.decode(plugin.config, { errors: "all" })(encoded).pipe(
    Effect.mapError((error) => new PluginError({ plugin: plugin.name, reason: problem(plugin, error) })),
    Effect.sandbox,
    Effect.mapError((cause) =>
      cause._tag === "Fail"
        ? cause.error
        : new PluginError({ plugin: plugin.name, reason: "its configuration schema failed to decode" })
    )
  )
})

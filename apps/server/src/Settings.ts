import { Config, type ConfigError, ConfigProvider, Effect, Option } from "effect"

/** Defaults of `svc serve --dev`. */
const developmentDefaults: ReadonlyArray<readonly [string, string]> = [
  ["SVC_PLUGINS", "@svc/plugin-simulated"],
  ["SVC_ALLOW_PRIVATE_URLS", "true"]
]

/**
 * The configuration: environment variables with the prefix `SVC_`. An empty one counts as not set, as
 * `SVC_PORT=` in an env file. A variable that is set wins over a default of the development mode, even if it is invalid.
 */
export const provider = (development: boolean): ConfigProvider.ConfigProvider => {
  const environment = ConfigProvider.fromEnv()
  const defaults = ConfigProvider.fromMap(new Map(development ? developmentDefaults : []))
  const sourceOf = (path: ReadonlyArray<string>) =>
    environment.load(Config.string(path.join("_"))).pipe(
      Effect.option,
      Effect.map((text) => (Option.isSome(text) && text.value.trim() !== "" ? environment : defaults))
    )
  return ConfigProvider.fromFlat(
    ConfigProvider.makeFlat({
      load: (path, primitive, split) =>
        Effect.flatMap(sourceOf(path), ({ flattened }) => flattened.load(path, primitive, split)),
      enumerateChildren: (path) => environment.flattened.enumerateChildren(path),
      patch: environment.flattened.patch
    })
  )
}

/** Rewrites the library's messages, which also repeat the value: it may be a secret. */
const requirement = (message: string): string =>
  message
    .replace(/^Expected a boolean value but received.*$/s, "must be true or false")
    .replace(/^Expected (.+?) value but received.*$/s, "must be $1")
    .replace(/^Expected (.+?),? (?:but received|actual).*$/s, "must be $1")

/** One line that names each invalid variable and what it accepts. */
export const describe = (error: ConfigError.ConfigError): string => {
  switch (error._op) {
    case "And":
    case "Or":
      return [...new Set([describe(error.left), describe(error.right)])].join("; ")
    case "MissingData":
      return `${error.path.join("_")} is not set`
    case "InvalidData":
      return `${error.path.join("_")} ${requirement(error.message)}`
    default:
      return `${error.path.join("_")}: ${error.message}`
  }
}

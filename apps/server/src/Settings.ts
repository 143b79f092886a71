import { Config, type ConfigError, ConfigProvider, Effect, Option } from "effect"

/** What `svc serve --dev` takes where the environment says nothing. */
const developmentDefaults: ReadonlyArray<readonly [string, string]> = [
  ["SVC_PLUGINS", "@svc/plugin-simulated"],
  ["SVC_ALLOW_PRIVATE_URLS", "true"]
]

/**
 * The configuration: environment variables with the prefix `SVC_` (decisions §8). One that is empty counts as not set, as
 * in `SVC_PORT=` of an env file. A variable that is set wins over a default of the development mode, also when it is wrong.
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

/** The library's own messages, in the words of ours; they would also repeat the value, which may be a secret. */
const requirement = (message: string): string =>
  message
    .replace(/^Expected a boolean value but received.*$/s, "must be true or false")
    .replace(/^Expected (.+?) value but received.*$/s, "must be $1")
    .replace(/^Expected (.+?),? (?:but received|actual).*$/s, "must be $1")

/** One line that names each variable that is wrong, and what it accepts. */
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

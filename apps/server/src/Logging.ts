import { Config, type ConfigError, Effect, Layer, Logger, LogLevel } from "effect"

const levels = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
} as const

const isLevel = (text: string): text is keyof typeof levels => Object.hasOwn(levels, text)

const formats = {
  pretty: Logger.prettyLogger({ stderr: true, colors: process.stderr.isTTY === true }),
  logfmt: Logger.withConsoleError(Logger.logfmtLogger),
  json: Logger.withConsoleError(Logger.jsonLogger)
} as const

const isFormat = (text: string): text is keyof typeof formats => Object.hasOwn(formats, text)

/** `SVC_LOG_LEVEL`: trace, debug, info (the default), warn, error or none. */
export const logLevel: Config.Config<LogLevel.LogLevel> = Config.string("SVC_LOG_LEVEL").pipe(
  Config.validate({ message: "must be trace, debug, info, warn, error or none", validation: isLevel }),
  Config.withDefault("info" as const),
  Config.map((level) => levels[level])
)

const logFormat = Config.string("SVC_LOG_FORMAT").pipe(
  Config.validate({ message: "must be pretty, logfmt or json", validation: isFormat }),
  Config.withDefault(process.stderr.isTTY ? ("pretty" as const) : ("logfmt" as const))
)

/**
 * The log, on standard error: for people on a terminal, else one line per entry. `SVC_LOG_FORMAT` (pretty, logfmt, json)
 * chooses otherwise.
 */
export const layer: Layer.Layer<never, ConfigError.ConfigError> = Layer.unwrapEffect(
  Effect.gen(function* () {
    const level = yield* logLevel
    const format = yield* logFormat
    return Layer.merge(Logger.replace(Logger.defaultLogger, formats[format]), Logger.minimumLogLevel(level))
  })
)

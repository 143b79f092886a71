import { errorSummary } from "@svc/plugin-host/ErrorSummary"
import {
  Array as Arr,
  Cause,
  Config,
  type ConfigError,
  Effect,
  HashMap,
  Inspectable,
  Layer,
  Logger,
  LogLevel
} from "effect"

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

/** The fields of an error that has no message, as typed errors often have none. */
const detailsOf = (error: Error): string => {
  if ("reason" in error && typeof error.reason === "string") return error.reason
  const { _tag, ...fields } = Object.fromEntries(Object.entries(error))
  return Object.keys(fields).length === 0 ? "no message" : JSON.stringify(fields)
}

/** An error or anything else that was thrown, such that its message says what it is. Never throws. */
const described = (thrown: unknown): unknown => {
  try {
    if (!(thrown instanceof Error)) {
      return typeof thrown === "object" && thrown !== null ? JSON.stringify(thrown) : String(thrown)
    }
    if (thrown.message !== "") return thrown
    const shown = new Error(detailsOf(thrown), { cause: thrown.cause })
    shown.name = thrown.name
    const frames = (thrown.stack ?? "").split("\n").filter((line) => line.startsWith("    at "))
    shown.stack = [`${shown.name}: ${shown.message}`, ...frames].join("\n")
    return shown
  } catch {
    // It cannot be written as JSON, or its getters throw.
    return `a thrown value that cannot be read: ${errorSummary(thrown)}`
  }
}

const describedCause = (cause: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  Cause.match(cause, {
    onEmpty: Cause.empty,
    onFail: (error): Cause.Cause<unknown> => Cause.fail(described(error)),
    onDie: (defect) => Cause.die(described(defect)),
    onInterrupt: Cause.interrupt,
    onSequential: Cause.sequential,
    onParallel: Cause.parallel
  })

/** Levels of objects within which errors are looked for. */
const maxDepth = 5

/** A value with text in the place of errors, of which JSON would keep `{}`. */
const withoutErrors = (value: unknown, depth = 0): unknown => {
  if (value instanceof Error) return errorText(value)
  if (typeof value !== "object" || value === null || depth === maxDepth) return value
  if (Array.isArray(value)) return value.map((inner: unknown) => withoutErrors(inner, depth + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutErrors(inner, depth + 1)]))
}

const errorText = (error: Error): string => {
  const shown = described(error)
  return shown instanceof Error ? `${shown.name}: ${shown.message}` : String(shown)
}

/**
 * A logger that gets every error as a cause, or as text where it is part of something else: loggers write the message and
 * the stack of a cause, but of an error in a message or an annotation only its enumerable fields, which are often none.
 */
export const withReasons = <Output>(logger: Logger.Logger<unknown, Output>): Logger.Logger<unknown, Output> =>
  Logger.mapInputOptions(logger, (options: Logger.Logger.Options<unknown>) => {
    const messages = Arr.ensure(options.message)
    const errors = messages.filter((message) => message instanceof Error)
    const others = messages.filter((message) => !(message instanceof Error))
    return {
      ...options,
      message: (others.length === 0 ? errors : others).map((message) => withoutErrors(message)),
      cause: errors.reduce<Cause.Cause<unknown>>(
        (cause, error) => Cause.sequential(cause, Cause.die(described(error))),
        describedCause(options.cause)
      ),
      annotations: HashMap.map(options.annotations, (value) => withoutErrors(value))
    }
  })

/** An entry as a JSON object in one line. Annotations such as `call_id` are fields of their own, beside those that all have. */
const flatJsonLogger: Logger.Logger<unknown, string> = Logger.map(
  Logger.structuredLogger,
  ({ annotations, message, ...entry }) => Inspectable.stringifyCircular({ message, ...annotations, ...entry })
)

const formats = {
  pretty: withReasons(
    Logger.prettyLogger({ stderr: true, colors: process.stderr.isTTY === true && process.stderr.hasColors(16) })
  ),
  logfmt: Logger.withConsoleError(withReasons(Logger.logfmtLogger)),
  json: Logger.withConsoleError(withReasons(flatJsonLogger))
} as const

const isFormat = (text: string): text is keyof typeof formats => Object.hasOwn(formats, text)

/** `SVC_LOG_LEVEL`: trace, debug, info (the default), warn, error or none. */
export const logLevel: Config.Config<LogLevel.LogLevel> = Config.string("SVC_LOG_LEVEL").pipe(
  Config.validate({ message: "must be trace, debug, info, warn, error or none", validation: isLevel }),
  Config.withDefault("info" as const),
  Config.map((level) => levels[level])
)

const chosenFormat: Config.Config<keyof typeof formats> = Config.string("SVC_LOG_FORMAT").pipe(
  Config.validate({ message: "must be pretty, logfmt or json", validation: isFormat })
)

/** `SVC_LOG_FORMAT`: pretty (the default on a terminal), json (the default elsewhere) or logfmt. */
export const logFormat: Config.Config<keyof typeof formats> = Config.withDefault(
  chosenFormat,
  process.stderr.isTTY ? ("pretty" as const) : ("json" as const)
)

/** Whether `SVC_LOG_FORMAT` is set to json: a collector keeps the whole output of the program, which must have no keys. */
export const isOutputCollected: Config.Config<boolean> = chosenFormat.pipe(
  Config.map((format) => format === "json"),
  Config.withDefault(false)
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

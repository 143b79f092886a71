import { Array as Arr, Cause, HashMap, Inspectable, Logger, type LogLevel } from "effect"
import { withReasons } from "../Logging.ts"
import type { LogEntry } from "./OtlpEncoding.ts"
import type { Sink } from "./Telemetry.ts"
import { rootSpanIdOf, traceIdOf } from "./TraceIds.ts"

/** `SeverityNumber` of OTLP; see opentelemetry/proto/logs/v1/logs.proto. */
const severities: Readonly<Record<LogLevel.LogLevel["_tag"], number>> = {
  All: 0,
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warning: 13,
  Error: 17,
  Fatal: 21,
  None: 0
}

/** The most characters of a message, and of the cause of a failure. */
const maxMessage = 4000
const maxCause = 8000

const textOf = (value: unknown): string => (typeof value === "string" ? value : Inspectable.toStringUnknown(value))

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/**
 * Exports what is logged. An entry with the id of a call belongs to the trace of that call, also when it is written before
 * the trace is.
 */
export const otlpLogger = (logs: Sink<LogEntry>): Logger.Logger<unknown, void> =>
  withReasons(
    Logger.make(({ annotations, cause, date, logLevel, message }) => {
      const attributes = Object.fromEntries(
        [...HashMap.entries(annotations)].map(([key, value]) => [key, isPlain(value) ? value : textOf(value)])
      )
      const call = attributes["call_id"]
      const isCall = typeof call === "string"
      logs.offer({
        at: date.getTime(),
        severity: { number: severities[logLevel._tag], text: logLevel.label },
        body: Arr.ensure(message).map(textOf).join(" ").slice(0, maxMessage),
        attributes: Cause.isEmpty(cause)
          ? attributes
          : {
              ...attributes,
              "exception.stacktrace": Cause.pretty(cause, { renderErrorCause: true }).slice(0, maxCause)
            },
        traceId: isCall ? traceIdOf(call) : undefined,
        spanId: isCall ? rootSpanIdOf(call) : undefined
      })
    })
  )

import { Config, type ConfigError, Effect, Option } from "effect"
import { Telemetry } from "./Telemetry.ts"
import { traceIdOf } from "./TraceIds.ts"

const place = "{trace_id}"

const isTemplate = (text: string): boolean => text.includes(place) && /^https?:$/.test(protocolOf(text))

const protocolOf = (text: string): string => {
  const plain = text.replaceAll(place, "0")
  return URL.canParse(plain) ? new URL(plain).protocol : ""
}

/** `SVC_TRACE_URL`: the address of a trace, with `{trace_id}` in the place of its id. */
export const traceUrl: Config.Config<Option.Option<string>> = Config.string("SVC_TRACE_URL").pipe(
  Config.validate({
    message: `must be a URL that begins with http:// or https:// and has ${place} in it`,
    validation: isTemplate
  }),
  Config.option
)

/**
 * The address of a call's trace, for people; undefined without `SVC_TRACE_URL`, and for a call that has no trace because none
 * are exported or it is not sampled.
 */
export const traceLinks: Effect.Effect<(callId: string) => string | undefined, ConfigError.ConfigError> = Effect.gen(
  function* () {
    const template = yield* traceUrl
    const traces = (yield* Telemetry)?.traces
    return (callId) => {
      const id = traceIdOf(callId)
      return Option.isSome(template) && traces?.isSampled(id) === true
        ? template.value.replaceAll(place, id)
        : undefined
    }
  }
)

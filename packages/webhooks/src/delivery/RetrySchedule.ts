import { Config, type ConfigError, Context, Duration, Effect, Layer, Option, Random } from "effect"

/** The part of a wait by which it is randomly shortened or lengthened. */
const jitter = 0.1
const maxAttempts = 20

const units: Readonly<Record<string, (n: number) => Duration.Duration>> = {
  ms: Duration.millis,
  s: Duration.seconds,
  m: Duration.minutes,
  h: Duration.hours
}

const parse = (text: string): Duration.Duration | undefined => {
  const found = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text.trim())
  return found === null ? undefined : units[found[2] ?? ""]?.(Number(found[1]))
}

/** Waits before attempts, the first counted from the event: `0s,30s,5m,30m`. Their number is the number of attempts. */
const waits: Config.Config<ReadonlyArray<Duration.Duration>> = Config.nonEmptyString("SVC_WEBHOOK_RETRY_SCHEDULE").pipe(
  Config.validate({
    message: `must be 1 to ${maxAttempts} times like 0s,30s,5m,30m (units ms, s, m, h)`,
    validation: (text) => {
      const times = text.split(",")
      return times.length <= maxAttempts && times.every((time) => parse(time) !== undefined)
    }
  }),
  Config.withDefault("0s,30s,5m,30m"),
  Config.map((text) => text.split(",").flatMap((time) => parse(time) ?? []))
)

/** When deliveries are attempted (docs/reference/webhooks.md, "Retries"). */
export class RetrySchedule extends Context.Tag("@svc/webhooks/RetrySchedule")<
  RetrySchedule,
  {
    /** Milliseconds from the event to the first attempt. */
    readonly firstMs: number
    /** Milliseconds until the next attempt after this number of attempts, with jitter; none when that was the last. */
    readonly afterMs: (attempts: number) => Effect.Effect<Option.Option<number>>
  }
>() {
  /** `SVC_WEBHOOK_RETRY_SCHEDULE`, by default `0s,30s,5m,30m`: each counted from the attempt before. */
  static readonly layer: Layer.Layer<RetrySchedule, ConfigError.ConfigError> = Layer.effect(
    RetrySchedule,
    Effect.map(waits, (schedule) => ({
      firstMs: Duration.toMillis(schedule[0] ?? Duration.zero),
      afterMs: (attempts) => {
        const time = schedule[attempts]
        if (time === undefined) return Effect.succeedNone
        return Effect.map(Random.nextRange(1 - jitter, 1 + jitter), (factor) =>
          Option.some(Math.round(Duration.toMillis(time) * factor))
        )
      }
    }))
  )
}

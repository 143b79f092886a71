import { Config, ConfigError, Context, Duration, Effect, Either, Layer, Option, Random } from "effect"

/** How much earlier or later than planned an attempt may be, as a part of the time. */
const jitter = 0.1
const mostAttempts = 20

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

/** Times between attempts, the first from the event on: `0s,30s,5m,30m`. There are as many attempts as times. */
const times: Config.Config<ReadonlyArray<Duration.Duration>> = Config.nonEmptyString("SVC_WEBHOOK_RETRY_SCHEDULE").pipe(
  Config.withDefault("0s,30s,5m,30m"),
  Config.mapOrFail((text) => {
    const parsed = text.split(",").map(parse)
    const all = parsed.flatMap((time) => time ?? [])
    return all.length === parsed.length && all.length <= mostAttempts
      ? Either.right(all)
      : Either.left(
          ConfigError.InvalidData([], `must be 1 to ${mostAttempts} times like 0s,30s,5m,30m (units ms, s, m, h)`)
        )
  })
)

/** When deliveries are tried again (spec 6.5, decisions §5.3). */
export class RetrySchedule extends Context.Tag("@svc/webhooks/RetrySchedule")<
  RetrySchedule,
  {
    /** Milliseconds from the event to the first attempt. */
    readonly firstMs: number
    /** Milliseconds until the next attempt after this many, with jitter; none when that was the last. */
    readonly afterMs: (attempts: number) => Effect.Effect<Option.Option<number>>
  }
>() {
  /** `SVC_WEBHOOK_RETRY_SCHEDULE`, by default `0s,30s,5m,30m`: each counted from the attempt before it. */
  static readonly layer: Layer.Layer<RetrySchedule, ConfigError.ConfigError> = Layer.effect(
    RetrySchedule,
    Effect.map(times, (schedule) => ({
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

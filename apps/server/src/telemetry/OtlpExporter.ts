import { gzip } from "node:zlib"
import { Data, Duration, Effect, Metric, Redacted } from "effect"
import { Agent, request } from "undici"
import type { Sink } from "./Telemetry.ts"
import type { Signal, SignalSettings } from "./TelemetrySettings.ts"

/** A collector did not take a request. */
class ExportFailed extends Data.TaggedError("ExportFailed")<{
  readonly reason: string
  /** Whether the same request may be accepted later (OTLP 1.5, "Failures"). */
  readonly retryable: boolean
  /** What `Retry-After` asks for. */
  readonly retryAfter?: Duration.Duration
}> {}

/** A request as the collector gets it. */
export interface Encoded {
  readonly body: Uint8Array
  readonly contentType: string
}

const exported = Metric.counter("svc_otlp_exported_total", {
  description: "Spans, metrics and log entries that a collector accepted",
  incremental: true
})
const dropped = Metric.counter("svc_otlp_dropped_total", {
  description:
    "Spans, metrics and log entries that were dropped: the queue was full, or the collector did not take them",
  incremental: true
})

/** The most bytes of an answer that are read; nothing in it matters but its status. */
const maxAnswer = 64 * 1024
/** How often a request is sent, the longest pause before the next time, and the most that `Retry-After` adds to it. */
const attempts = 5
const maxPause = Duration.seconds(30)
/** How long a stop waits for what is left. */
const flushTimeout = Duration.seconds(2)

const retryableStatus = new Set([429, 502, 503, 504])

const seconds = (header: string | ReadonlyArray<string> | undefined): Duration.Duration | undefined =>
  typeof header === "string" && /^\d{1,6}$/.test(header.trim()) ? Duration.seconds(Number(header)) : undefined

const compressed = (body: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.async((resume) =>
    gzip(body, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  )

/** An address without what may be secret. */
const shownUrl = ({ host, pathname, protocol }: URL): string => `${protocol}//${host}${pathname}`

/**
 * Sends items of one signal to a collector, in batches, one request at a time. At most `maxPending` items wait: while the
 * collector is slow or does not answer, newer ones are dropped and counted, and nothing else waits for it. A request that fails
 * for a while is repeated a few times. On release, what is left is sent once, within 2 s.
 */
export const make = Effect.fnUntraced(function* <Item>(
  signal: Signal,
  { compression, headers, timeout, url }: SignalSettings,
  options: {
    readonly encode: (items: ReadonlyArray<Item>) => Encoded
    /** The longest that an item waits for others. */
    readonly every: Duration.DurationInput
    readonly maxPending: number
    readonly maxBatch: number
  }
) {
  const { encode, every, maxBatch, maxPending } = options
  const countExported = Metric.tagged(exported, "signal", signal)
  const countDropped = (reason: "queue_full" | "not_accepted") =>
    dropped.pipe(Metric.tagged("signal", signal), Metric.tagged("reason", reason))
  const drops = { full: countDropped("queue_full"), refused: countDropped("not_accepted") }
  for (const metric of [countExported, drops.full, drops.refused]) metric.unsafeUpdate(0, [])

  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ connections: 1, pipelining: 1, connect: { timeout: Duration.toMillis(timeout) } })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const pending: Array<Item> = []
  const work = Effect.unsafeMakeLatch()
  const isFull = Effect.unsafeMakeLatch()
  let failing = false

  const fixed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
  const send = ({ body, contentType }: Encoded): Effect.Effect<void, ExportFailed> =>
    Effect.flatMap(compression === "gzip" ? compressed(body) : Effect.succeed(body), (bytes) =>
      Effect.tryPromise({
        try: (abort) =>
          request(url, {
            method: "POST",
            dispatcher: agent,
            signal: abort,
            body: bytes,
            headers: {
              ...fixed,
              "content-type": contentType,
              "user-agent": "svc-otlp",
              ...(compression === "gzip" ? { "content-encoding": "gzip" } : {})
            }
          }).then((answer) => answer.body.dump({ limit: maxAnswer, signal: abort }).then(() => answer)),
        catch: (error) =>
          new ExportFailed({ reason: error instanceof Error ? error.message : String(error), retryable: true })
      })
    ).pipe(
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => new ExportFailed({ reason: `no answer within ${Duration.format(timeout)}`, retryable: true })
      }),
      Effect.flatMap(({ headers: given, statusCode }) => {
        if (statusCode >= 200 && statusCode < 300) return Effect.void
        const retryAfter = seconds(given["retry-after"])
        return new ExportFailed({
          reason: `status ${statusCode}`,
          retryable: retryableStatus.has(statusCode),
          ...(retryAfter === undefined ? {} : { retryAfter })
        })
      })
    )

  const repeated = (encoded: Encoded, attempt: number): Effect.Effect<void, ExportFailed> =>
    Effect.catchAll(send(encoded), (failed) => {
      if (!failed.retryable || attempt >= attempts) return failed
      const pause = failed.retryAfter ?? Duration.seconds(2 ** (attempt - 1))
      return Effect.zipRight(
        reportFailing(failed),
        Effect.delay(repeated(encoded, attempt + 1), Duration.min(pause, maxPause))
      )
    })

  const reportFailing = ({ reason }: ExportFailed) =>
    Effect.suspend(() => {
      if (failing) return Effect.void
      failing = true
      return Effect.logWarning(
        `The ${signal} are not accepted by ${shownUrl(url)}: ${reason}. See svc_otlp_dropped_total.`
      )
    })
  const reportWorking = Effect.suspend(() => {
    if (!failing) return Effect.void
    failing = false
    return Effect.logInfo(`The ${signal} are accepted by ${shownUrl(url)} again`)
  })

  /** Sends the oldest batch. Interrupted, it stays pending. */
  const sendBatch = (how: (encoded: Encoded) => Effect.Effect<void, ExportFailed>) =>
    Effect.suspend(() => {
      const batch = pending.splice(0, maxBatch)
      return Effect.suspend(() => how(encode(batch))).pipe(
        Effect.matchCauseEffect({
          onSuccess: () =>
            Effect.zipRight(
              Effect.sync(() => countExported.unsafeUpdate(batch.length, [])),
              reportWorking
            ),
          onFailure: (cause) =>
            Effect.sync(() => drops.refused.unsafeUpdate(batch.length, [])).pipe(
              Effect.zipRight(
                cause._tag === "Fail"
                  ? reportFailing(cause.error)
                  : Effect.logWarning(`Some ${signal} could not be exported`, cause)
              )
            )
        }),
        Effect.onInterrupt(() => Effect.sync(() => pending.unshift(...batch)))
      )
    })

  const loop = work.await.pipe(
    Effect.zipRight(Effect.raceFirst(Effect.sleep(every), isFull.await)),
    Effect.zipRight(
      Effect.suspend(() => {
        work.unsafeClose()
        isFull.unsafeClose()
        return Effect.whileLoop({
          while: () => pending.length > 0,
          body: () => sendBatch((encoded) => repeated(encoded, 1)),
          step: () => {}
        })
      })
    ),
    Effect.forever
  )
  yield* Effect.addFinalizer(() =>
    Effect.whileLoop({ while: () => pending.length > 0, body: () => sendBatch(send), step: () => {} }).pipe(
      Effect.interruptible,
      Effect.timeoutOption(flushTimeout)
    )
  )
  yield* Effect.forkScoped(loop)

  const sink: Sink<Item> = {
    room: () => maxPending - pending.length,
    offer: (item) => {
      if (pending.length >= maxPending) {
        drops.full.unsafeUpdate(1, [])
        return
      }
      pending.push(item)
      work.unsafeOpen()
      if (pending.length >= maxBatch) isFull.unsafeOpen()
    }
  }
  return sink
})

import type { SqlClient } from "@effect/sql/SqlClient"
import { CallQueriesRepo } from "@svc/call-engine/record/CallQueriesRepo"
import { JournalRepo } from "@svc/call-engine/record/JournalRepo"
import { ServerRequestsRepo } from "@svc/call-engine/record/ServerRequestsRepo"
import { SettledCalls } from "@svc/call-engine/record/SettledCalls"
import { Timelines } from "@svc/call-engine/record/Timelines"
import type { Providers } from "@svc/providers/Providers"
import { Data, Effect, Layer, Metric, Queue, Schedule } from "effect"
import { spansOf } from "./CallSpans.ts"
import { Telemetry, type TracedCall } from "./Telemetry.ts"
import { traceIdOf } from "./TraceIds.ts"

/** The most settled calls that wait for their trace to be made; the newest beyond that have none. */
const maxWaiting = 1000
/** How long calls that were settled during a stop may take. */
const flushTimeout = "2 seconds"
/** How often a trace looks for room, while a collector is slow or does not answer. */
const roomInterval = "100 millis"

const lost = Metric.counter("svc_call_traces_lost_total", {
  description: "Calls without a trace, because too many waited or their records could not be read",
  incremental: true
})

/** The record of a settled call is not visible yet. */
class NotSettledYet extends Data.TaggedError("NotSettledYet") {}

/** A settlement is visible when its transaction ends: at once, or after the recovery of all calls of a dead node. */
const visible = Schedule.intersect(Schedule.exponential("50 millis", 1.5), Schedule.recurs(14))

/**
 * Makes the traces of calls from their journals, when they have been settled: in the call itself nothing is traced, and a
 * call of a process that was killed has its trace when another one settles it. Empty where no traces are exported.
 */
export const callTraces: Layer.Layer<never, never, Timelines> = Layer.unwrapEffect(
  Effect.gen(function* () {
    const traces = (yield* Telemetry)?.traces
    if (traces === undefined) return Layer.empty
    return Layer.scoped(
      SettledCalls,
      Effect.gen(function* () {
        const timelines = yield* Timelines
        const waiting = yield* Queue.dropping<TracedCall>(maxWaiting)
        const room = traces.spans.room()
        lost.unsafeUpdate(0, [])

        /** Room for a trace, or for as much as there can be. */
        const hasRoom = (spans: number) => traces.spans.room() >= Math.min(spans, room)
        /** With `wait` it waits for room: calls take less memory than their spans. */
        const exportTrace = ({ project_id, public_id }: TracedCall, wait: boolean) =>
          Effect.gen(function* () {
            const reader = yield* timelines.open({ id: project_id }, public_id)
            const sources = yield* reader.read.pipe(
              Effect.filterOrFail(
                ({ call }) => call.ended_at !== null,
                () => new NotSettledYet()
              ),
              Effect.retry(visible)
            )
            const spans = spansOf(sources)
            while (wait && !hasRoom(spans.length)) yield* Effect.sleep(roomInterval)
            for (const span of spans) traces.spans.offer(span)
          }).pipe(
            Effect.catchAllCause((cause) =>
              Effect.logWarning("The trace of a call could not be made", cause).pipe(
                Effect.zipRight(Metric.increment(lost)),
                Effect.annotateLogs("call_id", public_id)
              )
            )
          )

        /** A call whose trace is being made when the server stops is left for the flush. */
        const next = Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(restore(Queue.take(waiting)), (call) =>
            Effect.onInterrupt(restore(exportTrace(call, true)), () => Queue.offer(waiting, call))
          )
        )
        yield* Effect.addFinalizer(() =>
          Queue.takeAll(waiting).pipe(
            Effect.flatMap((calls) => Effect.forEach(calls, (call) => exportTrace(call, false), { discard: true })),
            Effect.interruptible,
            Effect.timeoutOption(flushTimeout)
          )
        )
        yield* Effect.forkScoped(Effect.forever(next))
        return {
          add: (call) => {
            if (traces.isSampled(traceIdOf(call.public_id)) && !waiting.unsafeOffer(call)) lost.unsafeUpdate(1, [])
          }
        }
      })
    )
  })
)

/** {@link callTraces} with repositories of its own, because calls end before it, and the call engine's with them. */
export const CallTraces: Layer.Layer<never, never, Providers | SqlClient> = callTraces.pipe(
  Layer.provide(Timelines.layer),
  Layer.provide(Layer.mergeAll(CallQueriesRepo.layer, JournalRepo.layer, ServerRequestsRepo.layer))
)

import type { KeyScope } from "@svc/api/accounts/ApiKey"
import { DebugTokenNotFound } from "@svc/api/calls/Call"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import { yieldThread } from "@svc/api/JsonLimits"
import { inSteps } from "@svc/api/Thread"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import type { DebugCall } from "@svc/call-engine/record/DebugLinksRepo"
import { type TimelineReader, Timelines } from "@svc/call-engine/record/Timelines"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { documentOf, type TimelineSources } from "@svc/conversation/TimelineDocument"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { type ConfigError, Data, Deferred, Effect, FiberId, Queue, RcMap, type Scope } from "effect"
import { traceLinks } from "../../telemetry/TraceLinks.ts"
import { type RenderedCall, rendering } from "./DebugPage.ts"

/** What was read of a call at one time. */
export interface Snapshot {
  /** Ids of the call's links that work. */
  readonly open: ReadonlySet<number>
  readonly timeline: CallTimeline
  /** The page's content for links of this scope; rendered when it is first asked for. */
  readonly content: (scope: KeyScope) => Effect.Effect<RenderedCall>
  /** Changes with the content. */
  readonly version: string
}

/** A call that is read once a second for all who watch it. */
export interface WatchedCall {
  readonly latest: () => Snapshot
  /** Completes with the next snapshot. */
  readonly next: Effect.Effect<Snapshot>
}

const contentOf = (sources: TimelineSources, full: CallTimeline, traceUrl: string | undefined): Snapshot["content"] => {
  const made = new Map<KeyScope, RenderedCall>()
  const one = Effect.unsafeMakeSemaphore(1)
  return (scope) =>
    one.withPermits(1)(
      Effect.gen(function* () {
        const known = made.get(scope)
        if (known !== undefined) return known
        const timeline = scope === "full" ? full : documentOf(sources, scope)
        const content = yield* inSteps(() => rendering({ timeline, scope, traceUrl }))
        made.set(scope, content)
        return content
      })
    )
}

/** How often a watched call is read. */
const readInterval = "1 second"

/**
 * Reads calls for their debug pages: one reader for a call, however many watch it, while somebody does. It reads the
 * content again only when it has changed, and at once when the call's links are revoked on this node.
 */
export const debugWatch: Effect.Effect<
  (call: DebugCall) => Effect.Effect<WatchedCall, DebugTokenNotFound, Scope.Scope>,
  ConfigError.ConfigError,
  DebugLinks | Timelines | Deliveries | Scope.Scope
> = Effect.gen(function* () {
  const links = yield* DebugLinks
  const timelines = yield* Timelines
  const deliveries = yield* Deliveries
  const traceUrlOf = yield* traceLinks

  const read = Effect.fn("DebugWatch.read")(function* (
    call: DebugCall,
    reader: TimelineReader,
    before: Snapshot | undefined
  ) {
    const open = yield* links.openLinks(call)
    // Before the view, which is then at least as new.
    const own = yield* links.version(call)
    const made = yield* deliveries.ofCall(call.public_id)
    const version = [own, ...made.map(({ id }) => id)].join(" ")
    if (before?.version === version) return { ...before, open }
    const recorded = yield* Effect.mapError(reader.read, () => new DebugTokenNotFound())
    const sources = { ...recorded, deliveries: made }
    const timeline = documentOf(sources, "full")
    // Rendering is the next step of work on the thread.
    yield* yieldThread
    // A call has its trace when it is over.
    const traceUrl = timeline.call.ended_at === null ? undefined : traceUrlOf(call.public_id)
    return { open, timeline, version, content: contentOf(sources, timeline, traceUrl) } satisfies Snapshot
  })

  const watches = yield* RcMap.make({
    lookup: (call: DebugCall) =>
      Effect.gen(function* () {
        const revocations = yield* links.revocations
        const reader = yield* timelines.open({ id: call.project_id }, call.public_id)
        const one = yield* Effect.makeSemaphore(1)
        let latest: Snapshot = yield* read(call, reader, undefined)
        let pulse = Deferred.unsafeMake<void>(FiberId.none)
        const look = one.withPermits(1)(
          Effect.map(
            Effect.suspend(() => read(call, reader, latest)),
            (snapshot) => {
              latest = snapshot
              const before = pulse
              pulse = Deferred.unsafeMake<void>(FiberId.none)
              Deferred.unsafeDone(before, Effect.void)
            }
          )
        )
        yield* Queue.take(revocations).pipe(
          Effect.flatMap((id) => (id === call.id ? look : Effect.void)),
          // The next look of the task below finds what this one could not read.
          Effect.catchAllCause((cause) => Effect.logDebug("A call could not be read after its links ended", cause)),
          Effect.forever,
          Effect.forkScoped
        )
        yield* startPeriodicTask({
          every: readInterval,
          run: look,
          failureMessage: "A call could not be read for its debug page; trying again"
        })
        const watched: WatchedCall = {
          latest: () => latest,
          next: Effect.map(
            Effect.suspend(() => Deferred.await(pulse)),
            () => latest
          )
        }
        return watched
      })
  })
  return (call) => RcMap.get(watches, Data.struct(call))
})

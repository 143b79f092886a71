import type { CallNotFound } from "@svc/api/calls/Call"
import { yieldThread } from "@svc/api/JsonLimits"
import type { PrincipalProject } from "@svc/api/Principal"
import { inSteps } from "@svc/api/Thread"
import { TimelineBuilder } from "@svc/conversation/CallTimeline"
import type { TimelineSources } from "@svc/conversation/TimelineDocument"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer } from "effect"
import { CallQueriesRepo } from "./CallQueriesRepo.ts"
import { find, withLine } from "./Calls.ts"
import { JournalRepo, type StoredInput } from "./JournalRepo.ts"
import { pluginOf } from "./RequestPlugin.ts"
import { ServerRequestsRepo } from "./ServerRequestsRepo.ts"

/** What a timeline is made of, without the webhook deliveries, which are of another slice. */
export type RecordedSources = Omit<TimelineSources, "deliveries">

/** Reads one call, again and again; of its journal only what is new since the last time. */
export interface TimelineReader {
  readonly read: Effect.Effect<RecordedSources, CallNotFound>
}

/** Rows of a journal that are read at once. */
const pageRows = 64

/** Adds rows. Returns false at a row that is not stored yet: it is read the next time, and those after it. */
function* addAll(builder: TimelineBuilder, rows: ReadonlyArray<StoredInput>): Generator<void, boolean> {
  for (const row of rows) {
    if (row.seq !== builder.seq + 1) return false
    builder.add(row)
    yield
  }
  return true
}

/** The timelines of calls. Their journals are read in steps, so that a long call does not hold the thread. */
export class Timelines extends Context.Tag("@svc/call-engine/Timelines")<
  Timelines,
  {
    readonly open: (project: Pick<PrincipalProject, "id">, callId: string) => Effect.Effect<TimelineReader>
  }
>() {
  static readonly layer: Layer.Layer<Timelines, never, CallQueriesRepo | JournalRepo | Providers | ServerRequestsRepo> =
    Layer.effect(
      Timelines,
      Effect.gen(function* () {
        const calls = yield* CallQueriesRepo
        const journal = yield* JournalRepo
        const requests = yield* ServerRequestsRepo
        const providers = yield* Providers

        /** Adds the rows that the builder does not have yet. */
        const catchUp = (builder: TimelineBuilder, call: number): Effect.Effect<void> =>
          Effect.gen(function* () {
            while (true) {
              const rows = yield* journal.page(call, builder.seq, pageRows)
              const isWhole = yield* inSteps(() => addAll(builder, rows))
              if (!isWhole || rows.length < pageRows) return
            }
          })

        return {
          open: (project, callId) =>
            Effect.sync(() => {
              const builder = new TimelineBuilder()
              return {
                read: Effect.gen(function* () {
                  // The record first: what follows is then at least as new.
                  const row = yield* find(project, callId, calls.get)
                  const { id, latency_turns: _, ...call } = withLine(row)
                  yield* catchUp(builder, id)
                  const { leftOut, requests: serverRequests } = yield* requests.newestOfCall(id)
                  yield* yieldThread
                  const timeline = builder.timeline()
                  return {
                    call,
                    journal: timeline,
                    pluginOf: pluginOf(providers, timeline?.state),
                    serverRequests,
                    serverRequestsLeftOut: leftOut
                  }
                })
              }
            })
        }
      })
    )
}

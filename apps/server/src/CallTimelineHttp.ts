import * as Handlers from "@svc/api/Handlers"
import { yieldThread } from "@svc/api/JsonLimits"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Timelines } from "@svc/call-engine/record/Timelines"
import { documentOf } from "@svc/conversation/TimelineDocument"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Effect, type Layer } from "effect"

/** Handler of `/v1/calls/<callId>/timeline`: it needs both calls and webhooks, which do not import each other. */
export const CallTimelineHttp: Layer.Layer<never, never, Timelines | Deliveries | Handlers.HandlerRegistry> =
  Handlers.group(
    VoiceApi,
    "callTimeline",
    Effect.gen(function* () {
      const timelines = yield* Timelines
      const deliveries = yield* Deliveries
      return {
        get: ({ path }) =>
          Effect.gen(function* () {
            const { scope } = yield* CurrentPrincipal
            const reader = yield* timelines.open(yield* CurrentProject, path.callId)
            const sources = yield* reader.read
            const made = yield* deliveries.ofCall(sources.call.call_id)
            const document = documentOf({ ...sources, deliveries: made }, scope)
            // Encoding is the next step of work on the thread.
            yield* yieldThread
            return document
          })
      }
    })
  )

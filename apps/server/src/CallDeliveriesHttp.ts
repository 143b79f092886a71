import * as Handlers from "@svc/api/Handlers"
import { CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Calls } from "@svc/call-engine/record/Calls"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Effect, type Layer } from "effect"

/** Handler of `/v1/calls/<callId>/webhooks`: it needs both calls and webhooks, which do not import each other. */
export const CallDeliveriesHttp: Layer.Layer<never, never, Calls | Deliveries | Handlers.HandlerRegistry> =
  Handlers.group(
    VoiceApi,
    "callDeliveries",
    Effect.gen(function* () {
      const calls = yield* Calls
      const deliveries = yield* Deliveries
      return {
        list: ({ path }) =>
          Effect.gen(function* () {
            const { call_id } = yield* calls.state(yield* CurrentProject, path.callId)
            return { deliveries: yield* deliveries.ofCall(call_id) }
          })
      }
    })
  )

import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { CallNotFound } from "../calls/Call.ts"
import { AnyId } from "../Ids.ts"
import { DeliveryRecord } from "./Delivery.ts"

/** `/v1/calls/<callId>/webhooks`. */
export const CallDeliveriesApi = HttpApiGroup.make("callDeliveries")
  .annotateContext(OpenApi.annotations({ title: "Deliveries of a call", description: "What was sent about a call." }))
  .add(
    HttpApiEndpoint.get("list", "/v1/calls/:callId/webhooks")
      .annotateContext(
        OpenApi.annotations({
          summary: "List webhook deliveries of a call",
          description: "Every attempt of every webhook, oldest first, at most 500."
        })
      )
      .setPath(Schema.Struct({ callId: AnyId }))
      .addSuccess(Schema.Struct({ deliveries: Schema.Array(DeliveryRecord) }))
      .addError(CallNotFound.wire)
  )

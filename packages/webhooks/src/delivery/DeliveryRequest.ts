import { signatureOf } from "../Signature.ts"

/** The HTTP POST request of one attempt. */
export interface DeliveryRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The fields of an event's envelope; `data` is JSON text. */
export interface EnvelopeParts {
  readonly event_id: string
  readonly event: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly api_version: string
  readonly org_id: number
  readonly project_id: number | null
  readonly agent_id: string | null
  readonly data: string
}

/** The body: identical in every attempt and for every webhook. */
const bodyOf = (event: EnvelopeParts): string =>
  `{"id":${JSON.stringify(event.event_id)},"event":${JSON.stringify(event.event)},"timestamp":${JSON.stringify(event.timestamp)},"api_version":${JSON.stringify(event.api_version)},"org_id":${event.org_id},"project_id":${event.project_id},"agent_id":${JSON.stringify(event.agent_id)},"data":${event.data}}`

/** Builds the request that delivers an event, signed at `now` (milliseconds). See docs/reference/webhooks.md. */
export const deliveryRequest = (
  webhook: { readonly url: string; readonly secret: string },
  event: EnvelopeParts,
  now: number,
  mark?: "test" | "replay"
): DeliveryRequest => {
  const body = bodyOf(event)
  const timestamp = Math.floor(now / 1000)
  return {
    url: webhook.url,
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": "Svc-API/1.0",
      "x-webhook-event": event.event,
      "x-webhook-timestamp": String(timestamp),
      "x-webhook-signature": signatureOf(webhook.secret, timestamp, body),
      "x-svc-api-version": event.api_version,
      "x-svc-delivery": event.event_id,
      ...(mark === "test" ? { "x-svc-test-event": "1" } : {}),
      ...(mark === "replay" ? { "x-svc-replay": "1" } : {})
    }
  }
}

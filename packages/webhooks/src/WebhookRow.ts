import { Webhook } from "@svc/api/webhooks/Webhook"
import { Schema } from "effect"

/** A row of `webhooks`: which events are sent to which URL. */
export const WebhookRow = Schema.Struct({
  ...Webhook.fields,
  org_id: Schema.Int,
  /** 64 hex characters; signs the deliveries. */
  secret: Schema.String,
  last_failure_at: Schema.NullOr(Schema.DateFromSelf),
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type WebhookRow = typeof WebhookRow.Type

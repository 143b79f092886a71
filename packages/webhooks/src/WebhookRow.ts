import { variant } from "@svc/api/EntityFields"
import { WebhookFields } from "@svc/api/webhooks/WebhookFields"

/** A row of `webhooks`: which events are sent to which URL. */
export const WebhookRow = variant(WebhookFields, "row")
export type WebhookRow = typeof WebhookRow.Type

/** The columns of a new webhook. `NewWebhook.make` fills those that have an initial value. */
export const NewWebhook = variant(WebhookFields, "insert")
export type NewWebhook = typeof NewWebhook.Type

/** The columns of a webhook to change; absent ones stay. */
export const WebhookChange = variant(WebhookFields, "change")
export type WebhookChange = typeof WebhookChange.Type

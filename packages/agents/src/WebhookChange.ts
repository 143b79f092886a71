import { ValidationError } from "@svc/api/VoiceError"
import type { Subscription } from "@svc/webhooks/Subscription"
import { Either } from "effect"
import { namesOf } from "./AgentState.ts"

/** What a body does to an agent's webhook. */
export type WebhookChange = "keep" | "remove" | { readonly url: string; readonly events: ReadonlyArray<string> }

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => {
  const names = new Set(namesOf(b))
  return new Set(namesOf(a)).size === names.size && namesOf(a).every((name) => names.has(name))
}

/**
 * The change that a body asks for (spec 2.4, 3.2, 4.2).
 *
 * | webhook_url | webhook_events | the agent has no webhook | the agent has one |
 * |---|---|---|---|
 * | absent | absent | none | stays, also when it is disabled |
 * | absent | given | refused: they would go nowhere | gets these events, and is active |
 * | null or empty | absent | none | removed |
 * | null or empty | given | refused | refused |
 * | given | absent | made, for all events | gets the url, keeps its events and secret, and is active |
 * | given | given | made | gets both, keeps its secret, and is active |
 */
export const webhookChange = (
  current: Subscription | undefined,
  body: {
    readonly webhook_url?: string | null | undefined
    readonly webhook_events?: ReadonlyArray<string> | undefined
  }
): Either.Either<WebhookChange, ValidationError> => {
  const given = body.webhook_events === undefined ? undefined : [...new Set(body.webhook_events)]
  if (body.webhook_url === undefined && given === undefined) return Either.right("keep")
  const url = body.webhook_url === undefined ? (current?.url ?? null) : body.webhook_url
  if (url === null || url === "") {
    if (given !== undefined) {
      return Either.left(ValidationError.field("webhook_events", "webhook_events needs a webhook_url"))
    }
    return Either.right(current === undefined ? "keep" : "remove")
  }
  const wanted = given ?? current?.events ?? ["*"]
  const events = wanted.includes("*") ? ["*"] : wanted
  const unchanged = current?.is_active === true && current.url === url && isSame(current.events, events)
  return Either.right(unchanged ? "keep" : { url, events })
}

import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { ValidationError } from "@svc/api/VoiceError"
import { Either } from "effect"
import type { WebhookRow } from "./WebhookRow.ts"

/** The fields of a request body that set the webhook of an agent or a project. */
export interface ManagedWebhookBody {
  readonly webhook_url?: string | null | undefined
  readonly webhook_events?: ReadonlyArray<string> | undefined
}

/** The change of that webhook. */
export type ManagedWebhookChange = "keep" | "remove" | { readonly url: string; readonly events: ReadonlyArray<string> }

/** Where the webhooks of agents and projects differ. */
export interface ManagedWebhookRules {
  /** The events of a new webhook when the body names none. */
  readonly defaultEvents: ReadonlyArray<string>
  /** Whether a webhook that is active and already has this URL and these events is written again. */
  readonly rewritesUnchanged: boolean
}

/** An agent's webhook gets all events by default, also those of later releases. */
export const agentWebhookRules: ManagedWebhookRules = { defaultEvents: ["*"], rewritesUnchanged: false }
/** A project's webhook cannot name `*`. Writing it again resets its failure streak. */
export const projectWebhookRules: ManagedWebhookRules = { defaultEvents: webhookEvents, rewritesUnchanged: true }

/** The names of the events that a webhook receives: `*` stands for all. */
export const namesOf = (events: ReadonlyArray<string>): ReadonlyArray<string> =>
  events.includes("*") ? webhookEvents : events

const hasSameEvents = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => {
  const names = new Set(namesOf(b))
  return new Set(namesOf(a)).size === names.size && namesOf(a).every((name) => names.has(name))
}

/**
 * The change that a body requests. The caller checks `webhook_url`, because that needs DNS look-ups.
 *
 * | webhook_url | webhook_events | without a webhook | with a webhook |
 * |---|---|---|---|
 * | absent | absent | keep | keep, also when it is disabled |
 * | absent | given | refused: there is no URL to send to | these events; its URL stays |
 * | null or empty | absent | keep | remove |
 * | null or empty | given | refused | refused |
 * | given | absent | a new one with the default events | this URL; its events stay |
 * | given | given | a new one | this URL and these events |
 *
 * A webhook that is changed keeps its secret and becomes active. A name given twice counts once, and `*` replaces all
 * other names. An active webhook that would stay the same is kept, unless the rules rewrite it.
 */
export const managedWebhookChange = (
  rules: ManagedWebhookRules,
  current: Pick<WebhookRow, "url" | "events" | "is_active"> | undefined,
  body: ManagedWebhookBody
): Either.Either<ManagedWebhookChange, ValidationError> => {
  const given = body.webhook_events === undefined ? undefined : [...new Set(body.webhook_events)]
  if (body.webhook_url === undefined && given === undefined) return Either.right("keep")
  const url = body.webhook_url === undefined ? (current?.url ?? null) : body.webhook_url
  if (url === null || url === "") {
    if (given !== undefined) {
      return Either.left(ValidationError.field("webhook_events", "webhook_events needs a webhook_url"))
    }
    return Either.right(current === undefined ? "keep" : "remove")
  }
  const requested = given ?? current?.events ?? rules.defaultEvents
  const events = requested.includes("*") ? ["*"] : requested
  const isUnchanged = current?.is_active === true && current.url === url && hasSameEvents(current.events, events)
  return Either.right(isUnchanged && !rules.rewritesUnchanged ? "keep" : { url, events })
}

import { WebhookUrlRequired } from "@svc/api/agents/Agent"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { BadRequest, ValidationError } from "@svc/api/VoiceError"
import { WebhookNotFound } from "@svc/api/webhooks/Webhook"
import type { ProjectWebhookUpdate } from "@svc/api/webhooks/WebhookBody"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer, Option } from "effect"
import { newSecret } from "./SigningSecret.ts"
import type { Subscription } from "./Subscription.ts"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/** The project whose webhook it is. */
export interface WebhookProject {
  readonly org_id: number
  readonly project_id: number
}

/** What became of a change: the webhook, if there is one, and its secret when it was made just now. */
export interface ChangedProjectWebhook {
  readonly webhook: Subscription | undefined
  readonly secret: string | undefined
}

/** The webhook that a project manages itself (spec 4.5): at most one, for events of this project, without `*`. */
export class ProjectWebhooks extends Context.Tag("@svc/webhooks/ProjectWebhooks")<
  ProjectWebhooks,
  {
    readonly find: (project: WebhookProject) => Effect.Effect<Option.Option<Subscription>>
    /**
     * | webhook_url | webhook_events | the project has no webhook | the project has one |
     * |---|---|---|---|
     * | absent | given | refused: they would go nowhere | gets these events, and is active |
     * | null or empty | absent | nothing | removed |
     * | null or empty | given | refused | refused |
     * | given | absent | made, for all events of today | gets the url, keeps its events and secret, and is active |
     * | given | given | made | gets both, keeps its secret, and is active |
     */
    readonly update: (
      project: WebhookProject,
      body: ProjectWebhookUpdate
    ) => Effect.Effect<ChangedProjectWebhook, ValidationError | BadRequest>
    readonly remove: (project: WebhookProject) => Effect.Effect<void, WebhookNotFound>
    /** The row carries the new secret. */
    readonly rotate: (project: WebhookProject) => Effect.Effect<Subscription, WebhookUrlRequired>
  }
>() {
  static readonly layer: Layer.Layer<ProjectWebhooks, never, WebhooksRepo | UrlSafety> = Layer.effect(
    ProjectWebhooks,
    Effect.gen(function* () {
      const repo = yield* WebhooksRepo
      const urls = yield* UrlSafety
      const find = ({ project_id }: WebhookProject) => repo.findOfProject(project_id)

      return {
        find,
        update: Effect.fn("ProjectWebhooks.update")(function* (project, { webhook_events, webhook_url }) {
          if (webhook_url === undefined && webhook_events === undefined) {
            return yield* new BadRequest({ message: "No valid fields to update" })
          }
          const current = Option.getOrUndefined(yield* find(project))
          const url = webhook_url === undefined ? (current?.url ?? null) : webhook_url
          if (url === null || url === "") {
            if (webhook_events !== undefined) {
              return yield* ValidationError.field("webhook_events", "webhook_events needs a webhook_url")
            }
            if (current !== undefined) yield* repo.delete(current.id)
            return { webhook: undefined, secret: undefined }
          }
          if (webhook_url !== undefined) yield* urls.check(url, "webhook_url")
          const events =
            webhook_events === undefined ? (current?.events ?? webhookEvents) : [...new Set(webhook_events)]
          const secret = yield* newSecret
          const webhook = yield* repo.putOfProject({ ...project, url, events, secret })
          // Of two that make it at once one makes it, and only that one's secret is the webhook's.
          return { webhook, secret: webhook.secret === secret ? secret : undefined }
        }),
        remove: Effect.fn("ProjectWebhooks.remove")(function* (project) {
          const current = yield* find(project)
          if (Option.isNone(current) || !(yield* repo.delete(current.value.id))) return yield* new WebhookNotFound()
        }),
        rotate: Effect.fn("ProjectWebhooks.rotate")(function* (project) {
          const current = yield* find(project)
          if (Option.isNone(current)) return yield* new WebhookUrlRequired()
          const rotated = yield* repo.setSecret(current.value.id, yield* newSecret)
          return yield* Effect.catchTag(rotated, "NoSuchElementException", () => new WebhookUrlRequired())
        })
      }
    })
  )
}

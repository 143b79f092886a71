import { WebhookUrlRequired } from "@svc/api/agents/Agent"
import { BadRequest, type ValidationError } from "@svc/api/VoiceError"
import { WebhookNotFound } from "@svc/api/webhooks/Webhook"
import type { ProjectWebhookUpdate } from "@svc/api/webhooks/WebhookBody"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer, Option } from "effect"
import { managedWebhookChange, projectWebhookRules } from "./ManagedWebhook.ts"
import { newSecret } from "./SigningSecret.ts"
import { NewWebhook, type WebhookRow } from "./WebhookRow.ts"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/** The project that manages the webhook. */
export interface WebhookProject {
  readonly org_id: number
  readonly project_id: number
}

/** The webhook after a change, if there is one, and its secret when the change created it. */
export interface ChangedProjectWebhook {
  readonly webhook: WebhookRow | undefined
  readonly secret: string | undefined
}

/** The webhook that a project manages itself: at most one, for events of this project, without `*`. */
export class ProjectWebhooks extends Context.Tag("@svc/webhooks/ProjectWebhooks")<
  ProjectWebhooks,
  {
    readonly find: (project: WebhookProject) => Effect.Effect<Option.Option<WebhookRow>>
    /** See `managedWebhookChange`. A body without fields is a `BadRequest`. */
    readonly update: (
      project: WebhookProject,
      body: ProjectWebhookUpdate
    ) => Effect.Effect<ChangedProjectWebhook, ValidationError | BadRequest>
    readonly remove: (project: WebhookProject) => Effect.Effect<void, WebhookNotFound>
    /** The returned row has the new secret. */
    readonly rotate: (project: WebhookProject) => Effect.Effect<WebhookRow, WebhookUrlRequired>
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
        update: Effect.fn("ProjectWebhooks.update")(function* (project, body) {
          if (body.webhook_url === undefined && body.webhook_events === undefined) {
            return yield* new BadRequest({ message: "No valid fields to update" })
          }
          const current = Option.getOrUndefined(yield* find(project))
          const change = yield* managedWebhookChange(projectWebhookRules, current, body)
          if (change === "keep") return { webhook: current, secret: undefined }
          if (change === "remove") {
            if (current !== undefined) yield* repo.delete(project, current.id)
            return { webhook: undefined, secret: undefined }
          }
          if (body.webhook_url !== undefined) yield* urls.check(change.url, "webhook_url")
          const secret = yield* newSecret
          const { project_id } = project
          const owned = { ...project, filters: { project_id }, is_project_managed: true }
          const webhook = yield* repo.putOfProject(NewWebhook.make({ ...owned, ...change, secret }))
          // When two requests create it at once, only one of the two secrets is stored.
          return { webhook, secret: webhook.secret === secret ? secret : undefined }
        }),
        remove: Effect.fn("ProjectWebhooks.remove")(function* (project) {
          const current = yield* find(project)
          if (Option.isNone(current) || !(yield* repo.delete(project, current.value.id)))
            return yield* new WebhookNotFound()
        }),
        rotate: Effect.fn("ProjectWebhooks.rotate")(function* (project) {
          const current = yield* find(project)
          if (Option.isNone(current)) return yield* new WebhookUrlRequired()
          const rotated = yield* repo.setSecret(project, current.value.id, yield* newSecret)
          return yield* Effect.catchTag(rotated, "NoSuchElementException", () => new WebhookUrlRequired())
        })
      }
    })
  )
}

import { SqlClient } from "@effect/sql"
import type { AgentId } from "@svc/api/Ids"
import { BadRequest, ValidationError } from "@svc/api/VoiceError"
import { WebhookManaged, WebhookNotFound } from "@svc/api/webhooks/Webhook"
import type { WebhookCreate, WebhookUpdate } from "@svc/api/webhooks/WebhookBody"
import type { WebhookFilters } from "@svc/api/webhooks/WebhookFields"
import { Accounts } from "@svc/auth/Accounts"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer, Option } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"
import { FilterAgents } from "./FilterAgents.ts"
import { newSecret } from "./SigningSecret.ts"
import { NewWebhook, type WebhookChange, type WebhookRow } from "./WebhookRow.ts"
import { type WebhookOwner, WebhooksRepo } from "./WebhooksRepo.ts"

/**
 * The webhooks of an organization: the service of `/v1/webhooks` (docs/reference/webhooks.md). An owner with a project
 * sees and creates only webhooks that are limited to that project. Webhooks that an agent or a project manages itself
 * can be read here, but not changed.
 */
export class Webhooks extends Context.Tag("@svc/webhooks/Webhooks")<
  Webhooks,
  {
    /** The returned row has the new secret. */
    readonly create: (owner: WebhookOwner, body: WebhookCreate) => Effect.Effect<WebhookRow, ValidationError>
    /** Newest first, at most 100. */
    readonly list: (owner: WebhookOwner) => Effect.Effect<ReadonlyArray<WebhookRow>>
    readonly get: (owner: WebhookOwner, id: string) => Effect.Effect<WebhookRow, WebhookNotFound>
    readonly update: (
      owner: WebhookOwner,
      id: string,
      body: WebhookUpdate
    ) => Effect.Effect<WebhookRow, ValidationError | BadRequest | WebhookNotFound | WebhookManaged>
    readonly remove: (owner: WebhookOwner, id: string) => Effect.Effect<void, WebhookNotFound | WebhookManaged>
    /** The returned row has the new secret. The old one is invalid from the commit on. */
    readonly rotate: (owner: WebhookOwner, id: string) => Effect.Effect<WebhookRow, WebhookNotFound | WebhookManaged>
  }
>() {
  static readonly layer: Layer.Layer<
    Webhooks,
    never,
    WebhooksRepo | DeliveriesRepo | FilterAgents | Accounts | UrlSafety | SqlClient.SqlClient
  > = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const repo = yield* WebhooksRepo
      const deliveries = yield* DeliveriesRepo
      const agents = yield* FilterAgents
      const accounts = yield* Accounts
      const urls = yield* UrlSafety
      const sql = yield* SqlClient.SqlClient

      const notOfOrganization = (key: keyof WebhookFilters, noun: string) =>
        ValidationError.field(`filters.${key}`, `filters.${key} is not ${noun} of this organization`)

      /**
       * The columns of these filters. Checks that they name an existing project and agent of the owner, and adds the
       * owner's project to them.
       */
      const resolveFilters = Effect.fnUntraced(function* ({ org_id, project_id }: WebhookOwner, given: WebhookFilters) {
        if (project_id !== null && given.project_id !== undefined && given.project_id !== project_id) {
          return yield* notOfOrganization("project_id", "a project")
        }
        const project = project_id ?? given.project_id
        if (project_id === null && given.project_id !== undefined) {
          yield* Effect.catchTag(accounts.project(org_id, String(given.project_id)), "ProjectNotFound", () =>
            notOfOrganization("project_id", "a project")
          )
        }
        let agent_public_id: AgentId | null = null
        if (given.agent_id !== undefined) {
          const found = yield* agents.find({ org_id, project_id: project ?? null }, given.agent_id)
          if (Option.isNone(found)) return yield* notOfOrganization("agent_id", "an agent")
          agent_public_id = found.value
        }
        const filters = { ...given, ...(project === undefined ? {} : { project_id: project }) }
        const { agent_id = null, project_id: limit = null } = filters
        return { filters, agent_id, agent_public_id, project_id: limit } satisfies WebhookChange
      })

      const get = Effect.fn("Webhooks.get")(function* (owner: WebhookOwner, id: string) {
        if (!/^[1-9][0-9]{0,14}$/.test(id)) return yield* new WebhookNotFound()
        const found = yield* repo.find(owner, Number(id))
        return yield* Effect.catchTag(found, "NoSuchElementException", () => new WebhookNotFound())
      })

      const editable = Effect.fnUntraced(function* (owner: WebhookOwner, id: string) {
        const row = yield* get(owner, id)
        if (row.is_agent_managed || row.is_project_managed) return yield* new WebhookManaged()
        return row
      })

      const deadLetter = (id: number, { filters, is_active }: WebhookUpdate) =>
        Effect.all([
          Effect.when(deliveries.deadLetterPending(id, "moved"), () => filters !== undefined),
          Effect.when(deliveries.deadLetterPending(id, "disabled"), () => is_active === false)
        ])

      const orNotFound = (row: Option.Option<WebhookRow>) =>
        Effect.catchTag(row, "NoSuchElementException", () => new WebhookNotFound())

      return {
        create: Effect.fn("Webhooks.create")(function* (owner, body) {
          yield* urls.check(body.url, "url")
          const limits = yield* resolveFilters(owner, body.filters)
          const { org_id } = owner
          const secret = yield* newSecret
          return yield* repo.insert(
            NewWebhook.make({ ...body, ...limits, org_id, events: distinct(body.events), secret })
          )
        }),
        list: repo.list,
        get,
        update: Effect.fn("Webhooks.update")(function* (owner, id, body) {
          const row = yield* editable(owner, id)
          if (Object.values(body).every((value) => value === undefined)) {
            return yield* new BadRequest({ message: "No valid fields to update" })
          }
          if (body.url !== undefined) yield* urls.check(body.url, "url")
          const change: WebhookChange = {
            ...body,
            ...(body.events === undefined ? {} : { events: distinct(body.events) }),
            ...(body.filters === undefined ? {} : yield* resolveFilters(owner, body.filters))
          }
          const changed = yield* repo.change(owner, row.id, change).pipe(
            // Pending deliveries that may not be sent any more become dead letters.
            Effect.tap((found) => Effect.when(deadLetter(row.id, body), () => Option.isSome(found))),
            sql.withTransaction,
            Effect.catchTag("SqlError", Effect.die)
          )
          return yield* orNotFound(changed)
        }),
        remove: Effect.fn("Webhooks.remove")(function* (owner, id) {
          const row = yield* editable(owner, id)
          if (!(yield* repo.delete(owner, row.id))) return yield* new WebhookNotFound()
        }),
        rotate: Effect.fn("Webhooks.rotate")(function* (owner, id) {
          const row = yield* editable(owner, id)
          return yield* Effect.flatMap(repo.setSecret(owner, row.id, yield* newSecret), orNotFound)
        })
      }
    })
  )
}

/** Removes duplicates; `*` includes all other names. */
const distinct = (events: ReadonlyArray<string>): ReadonlyArray<string> =>
  events.includes("*") ? ["*"] : [...new Set(events)]

import { SqlClient } from "@effect/sql"
import { AgentHasActiveCalls, AgentNotFound, WebhookUrlRequired } from "@svc/api/agents/Agent"
import { agentSettings } from "@svc/api/agents/AgentFields"
import type { NewAgent } from "@svc/api/agents/AgentsApi"
import type { AuditAction } from "@svc/api/agents/AuditLog"
import { withChanges } from "@svc/api/EntityFields"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { BadRequest } from "@svc/api/VoiceError"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import { AgentWebhooks } from "@svc/webhooks/AgentWebhooks"
import { agentWebhookRules, type ManagedWebhookChange, managedWebhookChange } from "@svc/webhooks/ManagedWebhook"
import { newSecret } from "@svc/webhooks/SigningSecret"
import type { WebhookRow } from "@svc/webhooks/WebhookRow"
import { type Context, Effect, Either, Option, Struct } from "effect"
import { agentChecks, errorsOf, failWith } from "./AgentChecks.ts"
import type { AgentHooks } from "./AgentHooks.ts"
import { type AgentState, agentStates, difference, toAgent, toAudit } from "./AgentState.ts"
import type { Agents } from "./Agents.ts"
import { type AgentRow, AgentsRepo, changeable } from "./AgentsRepo.ts"
import { AuditLogRepo } from "./AuditLogRepo.ts"
import type { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import type { Voices } from "./Voices.ts"

const notes = {
  server_secret_note:
    "Store server_secret now, it is shown only once. It signs the requests to server_url (headers X-Svc-Signature-V1 and X-Svc-Signature).",
  webhook_secret_note:
    "Store webhook_secret now, it is shown only once. It signs the events to webhook_url (header X-Webhook-Signature)."
}

const maxName = 200

/** The default name of a clone, cut to the maximum length of a name, but not inside a surrogate pair. */
const nameOfClone = (source: string): string => {
  const name = `Copy of ${source}`
  if (name.length <= maxName) return name
  return name
    .slice(0, maxName)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()
}

type Settings = { readonly [field: string]: unknown }

/** The response to the creation of an agent: the only one with its secrets. */
const withSecrets = (state: AgentState): NewAgent => ({
  agent: toAgent(state),
  server_secret: state.row.server_secret,
  server_secret_note: notes.server_secret_note,
  ...(state.webhook === undefined
    ? {}
    : { webhook_secret: state.webhook.secret, webhook_secret_note: notes.webhook_secret_note })
})

/**
 * The methods of {@link Agents} that change agents. Each change is one transaction with its entry in the audit log. A
 * transaction that changes an existing agent locks its row first; one that also locks the project (by an insert) locks
 * the project before the agent, as the project's deletion does. This order prevents deadlocks.
 */
export const agentChanges = (
  hooks: AgentHooks
): Effect.Effect<
  Pick<
    Context.Tag.Service<Agents>,
    "create" | "update" | "remove" | "clone" | "rotateWebhookSecret" | "rotateServerSecret"
  >,
  never,
  AgentsRepo | AuditLogRepo | KnowledgeBasesRepo | AgentWebhooks | UrlSafety | Voices | SqlClient.SqlClient
> =>
  Effect.gen(function* () {
    const repo = yield* AgentsRepo
    const log = yield* AuditLogRepo
    const agentWebhooks = yield* AgentWebhooks
    const sql = yield* SqlClient.SqlClient
    const checks = yield* agentChecks
    const complete = yield* agentStates

    /** Webhook and knowledge bases are read after the row, so they cannot change when the row is locked. */
    const requireState = (row: Option.Option<AgentRow>): Effect.Effect<AgentState, AgentNotFound> =>
      Effect.flatMap(complete(Option.toArray(row)), ([state]) =>
        state === undefined ? Effect.fail(new AgentNotFound()) : Effect.succeed(state)
      )
    const locked = (owner: ProjectPrincipal, id: string) =>
      Effect.flatMap(repo.lock(owner.project.id, id), requireState)

    /** Writes the difference between two states to the audit log; a state is empty where the agent does not exist. */
    const record = (owner: ProjectPrincipal, action: AuditAction, id: number, before: Settings, after: Settings) =>
      log.insert({ agent_id: id, api_key_id: owner.key_id, action, ...difference(before, after) })

    const putWebhook = (
      row: AgentRow,
      current: WebhookRow | undefined,
      change: ManagedWebhookChange
    ): Effect.Effect<WebhookRow | undefined> => {
      if (change === "keep") return Effect.succeed(current)
      if (change === "remove") return Effect.as(agentWebhooks.remove(row.id), undefined)
      return agentWebhooks.put(row, change)
    }

    const checkUrls = (
      body: { readonly server_url?: string | undefined; readonly webhook_url?: string | null | undefined },
      missing: string
    ) =>
      Effect.all(
        [
          ...(body.server_url === undefined ? [] : [checks.url(body.server_url, "server_url", missing)]),
          ...(body.webhook_url ? [checks.url(body.webhook_url, "webhook_url")] : [])
        ],
        { concurrency: "unbounded" }
      )

    return {
      create: Effect.fn("Agents.create")(function* (owner, body) {
        const ids = body.knowledge_base_ids ?? []
        const change = managedWebhookChange(agentWebhookRules, undefined, body)
        yield* failWith(
          errorsOf(
            ...(yield* checkUrls(body, "server_url is required.")),
            checks.voice(body.voice, body.language),
            change,
            yield* checks.knowledgeBases(owner.project, ids)
          )
        )
        const webhook = yield* change
        const made = Effect.gen(function* () {
          const row = yield* repo.insert({
            org_id: owner.org.id,
            project_id: owner.project.id,
            ...Struct.pick(body, ...agentSettings),
            server_secret: yield* newSecret,
            has_webhook: webhook !== "keep",
            has_knowledge_bases: ids.length > 0
          })
          // Checked again, with locks: one may have been deleted since the first check.
          const knowledge_bases = yield* Effect.flatten(checks.knowledgeBases(owner.project, ids))
          yield* repo.link(row.id, knowledge_bases)
          const state = { row, webhook: yield* putWebhook(row, undefined, webhook), knowledge_bases }
          yield* record(owner, "created", row.id, {}, toAudit(state))
          return withSecrets(state)
        })
        return yield* made.pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))
      }),

      update: Effect.fn("Agents.update")(function* (owner, id, body) {
        if (Object.values(body).every((value) => value === undefined)) {
          return yield* new BadRequest({ message: "No valid fields to update" })
        }
        const urls = yield* checkUrls(body, "server_url cannot be removed")
        const changed = Effect.gen(function* () {
          const before = yield* locked(owner, id)
          const { row } = before
          const to = withChanges(changeable(row), Struct.pick(body, ...agentSettings))
          const change = managedWebhookChange(agentWebhookRules, before.webhook, body)
          const bases =
            body.knowledge_base_ids === undefined
              ? Either.right(before.knowledge_bases)
              : yield* checks.knowledgeBases(owner.project, body.knowledge_base_ids)
          const checksVoice = body.voice !== undefined || body.language !== undefined
          yield* failWith(
            errorsOf(...urls, ...(checksVoice ? [checks.voice(to.voice, to.language)] : []), change, bases)
          )
          const toWebhook = yield* change
          const knowledge_bases = yield* bases
          const same = toAudit({ row: { ...row, ...to }, webhook: before.webhook, knowledge_bases })
          if (toWebhook === "keep" && difference(toAudit(before), same).changed_fields.length === 0) {
            return toAgent(before)
          }
          const webhook = yield* putWebhook(row, before.webhook, toWebhook)
          if (body.knowledge_base_ids !== undefined) yield* repo.link(row.id, knowledge_bases)
          const written = yield* repo.change(row, {
            ...to,
            has_webhook: webhook !== undefined,
            has_knowledge_bases: knowledge_bases.length > 0
          })
          const after = { row: written, webhook, knowledge_bases }
          yield* record(owner, "updated", row.id, toAudit(before), toAudit(after))
          return toAgent(after)
        })
        return yield* changed.pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))
      }),

      remove: Effect.fn("Agents.remove")(
        function* (owner, id) {
          const state = yield* Effect.flatMap(repo.lockForDeletion(owner.project.id, id), requireState)
          const { row } = state
          if (yield* hooks.isActive(row.id)) return yield* new AgentHasActiveCalls()
          yield* hooks.runDeletionHooks(row.id)
          yield* repo.link(row.id, [])
          yield* agentWebhooks.remove(row.id)
          yield* repo.delete(row.id)
          yield* record(owner, "deleted", row.id, toAudit(state), {})
          return row.public_id
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      ),

      clone: Effect.fn("Agents.clone")(
        function* (owner, id, body) {
          const first = yield* repo.find(owner.project.id, id)
          if (Option.isNone(first)) return yield* new AgentNotFound()
          const { org_id, project_id } = first.value
          const server_secret = yield* newSecret
          // The insert locks the project, so it precedes the lock on the source, which may change in between: it is
          // copied below.
          const copy = yield* repo.insert({ ...changeable(first.value), server_secret, org_id, project_id })
          const source = yield* locked(owner, id)
          if (yield* hooks.isActive(source.row.id)) {
            return yield* new AgentHasActiveCalls({ message: "cannot clone agent with active calls in progress" })
          }
          const name = body.name ?? nameOfClone(source.row.name)
          const row = yield* repo.change(copy, { ...changeable(source.row), name, server_secret })
          const ids = source.knowledge_bases.map((base) => base.id)
          const knowledge_bases = yield* checks.existing(owner.project, ids)
          yield* repo.link(copy.id, knowledge_bases)
          const copied =
            source.webhook === undefined ? "keep" : { url: source.webhook.url, events: source.webhook.events }
          const state = { row, webhook: yield* putWebhook(row, undefined, copied), knowledge_bases }
          yield* record(owner, "cloned", row.id, {}, { ...toAudit(state), cloned_from: source.row.public_id })
          return withSecrets(state)
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      ),

      rotateWebhookSecret: Effect.fn("Agents.rotateWebhookSecret")(
        function* (owner, id) {
          const before = yield* locked(owner, id)
          const rotated = yield* agentWebhooks.rotateSecret(before.row.id)
          if (Option.isNone(rotated)) return yield* new WebhookUrlRequired()
          yield* repo.change(before.row, changeable(before.row))
          const after = { ...before, webhook: rotated.value }
          yield* record(owner, "webhook_secret_rotated", before.row.id, toAudit(before), toAudit(after))
          const { webhook_secret_note } = notes
          return { id: before.row.id, webhook_secret: rotated.value.secret, webhook_secret_note }
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      ),

      rotateServerSecret: Effect.fn("Agents.rotateServerSecret")(
        function* (owner, id) {
          const before = yield* locked(owner, id)
          const server_secret = yield* newSecret
          yield* repo.change(before.row, { ...changeable(before.row), server_secret })
          const after = { ...before, row: { ...before.row, server_secret } }
          yield* record(owner, "updated", before.row.id, toAudit(before), toAudit(after))
          return { id: before.row.id, server_secret, server_secret_note: notes.server_secret_note }
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      )
    }
  })

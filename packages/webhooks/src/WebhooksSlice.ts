import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { Accounts } from "@svc/auth/Accounts"
import { Projects } from "@svc/auth/Projects"
import type { Cron } from "@svc/cluster/Cron"
import type { DueCheck } from "@svc/cluster/DueCheck"
import type { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import { type ConfigError, Effect, Layer } from "effect"
import { AgentWebhooks } from "./AgentWebhooks.ts"
import { AgentWebhooksRepo } from "./AgentWebhooksRepo.ts"
import { CleanupWorker } from "./CleanupWorker.ts"
import { Deliveries } from "./Deliveries.ts"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"
import { DeliveryWorker } from "./DeliveryWorker.ts"
import { DeliveryFanOut } from "./delivery/DeliveryFanOut.ts"
import { QueueRepo } from "./delivery/QueueRepo.ts"
import { ReceiverClient } from "./delivery/ReceiverClient.ts"
import { RetrySchedule } from "./delivery/RetrySchedule.ts"
import type { FilterAgents } from "./FilterAgents.ts"
import { ProjectWebhookHttp } from "./ProjectWebhookHttp.ts"
import { ProjectWebhooks } from "./ProjectWebhooks.ts"
import { TestDeliveries } from "./TestDeliveries.ts"
import { Webhooks } from "./Webhooks.ts"
import { WebhooksHttp } from "./WebhooksHttp.ts"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/**
 * The outbox, with a delivery for each webhook that subscribes to an event. It is below all slices: each appends
 * events.
 */
export const outbox: Layer.Layer<Outbox | DeliveryFanOut, never, SqlClient.SqlClient> = Outbox.layer.pipe(
  Layer.provideMerge(DeliveryFanOut.layer)
)

/**
 * What the agents slice needs of this one. It is below agents, and the rest above, which needs their `FilterAgents`.
 */
export const agentWebhooks: Layer.Layer<AgentWebhooks, never, SqlClient.SqlClient> = AgentWebhooks.layer.pipe(
  Layer.provide(AgentWebhooksRepo.layer)
)

/** Deletes the webhooks of a deleted project in the same transaction. The agents slice deletes those of its agents. */
const deleteWithProject: Layer.Layer<never, never, Projects | WebhooksRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* WebhooksRepo
    yield* projects.onDelete("webhooks", (project) => repo.deleteAllOfProject(project.id))
  })
)

/**
 * Webhooks and their deliveries, with the repositories that tests read. Nothing is delivered yet; tests replace
 * `ReceiverClient`.
 */
export const services: Layer.Layer<
  Deliveries | ProjectWebhooks | TestDeliveries | Webhooks | DeliveriesRepo | QueueRepo | RetrySchedule | WebhooksRepo,
  ConfigError.ConfigError,
  Accounts | FilterAgents | Projects | ReceiverClient | UrlSafety | SqlClient.SqlClient
> = Layer.mergeAll(
  Webhooks.layer,
  ProjectWebhooks.layer,
  TestDeliveries.layer,
  Deliveries.layer,
  deleteWithProject
).pipe(
  Layer.provideMerge(Layer.mergeAll(DeliveriesRepo.layer, QueueRepo.layer, RetrySchedule.layer, WebhooksRepo.layer))
)

/**
 * The slice in a server: {@link services} with their handlers and workers. Provide it below the call engine: the last
 * events of calls that end with the server are delivered before it ends itself.
 */
export const layer: Layer.Layer<
  Deliveries | ProjectWebhooks | TestDeliveries | Webhooks,
  ConfigError.ConfigError,
  | (Accounts | Cron | DeliveryFanOut | DueCheck | FilterAgents | HandlerRegistry | NodeLease | Outbox)
  | (Projects | UrlSafety | SqlClient.SqlClient)
> = Layer.mergeAll(WebhooksHttp, ProjectWebhookHttp, DeliveryWorker, CleanupWorker).pipe(
  Layer.provideMerge(services),
  Layer.provide(ReceiverClient.layer)
)

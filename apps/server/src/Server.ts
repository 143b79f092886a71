import { Agents } from "@svc/agents/Agents"
import { AgentsHttp } from "@svc/agents/AgentsHttp"
import { AgentsOfProject } from "@svc/agents/AgentsOfProject"
import { AgentsRepo } from "@svc/agents/AgentsRepo"
import { AgentsToFilter } from "@svc/agents/AgentsToFilter"
import { AuditLogRepo } from "@svc/agents/AuditLogRepo"
import { KnowledgeBasesRepo } from "@svc/agents/KnowledgeBasesRepo"
import { VoicePreviews } from "@svc/agents/VoicePreviews"
import { Voices } from "@svc/agents/Voices"
import { HandlerRegistry } from "@svc/api/Handlers"
import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { AuthFailuresRepo } from "@svc/auth/AuthFailuresRepo"
import { Bootstrap } from "@svc/auth/Bootstrap"
import { KeyRegister } from "@svc/auth/KeyRegister"
import { Keys } from "@svc/auth/Keys"
import { KeysRepo } from "@svc/auth/KeysRepo"
import { KeyUse } from "@svc/auth/KeyUse"
import { OrganizationHttp } from "@svc/auth/OrganizationHttp"
import { Organizations } from "@svc/auth/Organizations"
import { ProjectHttp } from "@svc/auth/ProjectHttp"
import { Projects } from "@svc/auth/Projects"
import { ProjectsHttp } from "@svc/auth/ProjectsHttp"
import { RateLimits } from "@svc/auth/RateLimits"
import { RateLimitsRepo } from "@svc/auth/RateLimitsRepo"
import { TierLimits } from "@svc/auth/TierLimits"
import { Tiers } from "@svc/auth/Tiers"
import { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import { Billing } from "@svc/billing/Billing"
import { CreditsHttp } from "@svc/billing/CreditsHttp"
import { HoldsRepo } from "@svc/billing/HoldsRepo"
import { LedgerRepo } from "@svc/billing/LedgerRepo"
import { Rates } from "@svc/billing/Rates"
import { Usage } from "@svc/billing/Usage"
import { UsageHttp } from "@svc/billing/UsageHttp"
import { UsageRepo } from "@svc/billing/UsageRepo"
import { CustomerList } from "@svc/bookings/CustomerList"
import { CustomerListRepo } from "@svc/bookings/CustomerListRepo"
import { Customers } from "@svc/bookings/Customers"
import { CustomersHttp } from "@svc/bookings/CustomersHttp"
import { CustomersRepo } from "@svc/bookings/CustomersRepo"
import { Idempotency } from "@svc/bookings/Idempotency"
import { IdempotencyRepo } from "@svc/bookings/IdempotencyRepo"
import { PurgeWorker } from "@svc/bookings/PurgeWorker"
import * as CallEngineSlice from "@svc/call-engine/CallEngineSlice"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { PublicUrl } from "@svc/call-engine/recording/PublicUrl"
import { Cron } from "@svc/cluster/Cron"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { Outbox } from "@svc/database/Outbox"
import { NumbersOfAgent } from "@svc/numbers/NumbersOfAgent"
import { NumbersOfProject } from "@svc/numbers/NumbersOfProject"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { PhoneNumbersHttp } from "@svc/numbers/PhoneNumbersHttp"
import { PhoneNumbersRepo } from "@svc/numbers/PhoneNumbersRepo"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { Sms } from "@svc/sms/Sms"
import { SmsHttp } from "@svc/sms/SmsHttp"
import { SmsRepo } from "@svc/sms/SmsRepo"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { CleanupWorker } from "@svc/webhooks/CleanupWorker"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { DeliveriesRepo } from "@svc/webhooks/DeliveriesRepo"
import { DeliveryWorker } from "@svc/webhooks/DeliveryWorker"
import { DeliveryFanOut } from "@svc/webhooks/delivery/DeliveryFanOut"
import { QueueRepo } from "@svc/webhooks/delivery/QueueRepo"
import { Receivers } from "@svc/webhooks/delivery/Receivers"
import { RetrySchedule } from "@svc/webhooks/delivery/RetrySchedule"
import { ProjectWebhookHttp } from "@svc/webhooks/ProjectWebhookHttp"
import { ProjectWebhooks } from "@svc/webhooks/ProjectWebhooks"
import { Subscriptions } from "@svc/webhooks/Subscriptions"
import { SubscriptionsRepo } from "@svc/webhooks/SubscriptionsRepo"
import { TestDeliveries } from "@svc/webhooks/TestDeliveries"
import { Webhooks } from "@svc/webhooks/Webhooks"
import { WebhooksHttp } from "@svc/webhooks/WebhooksHttp"
import { WebhooksOfProject } from "@svc/webhooks/WebhooksOfProject"
import { WebhooksRepo } from "@svc/webhooks/WebhooksRepo"
import { Effect, Layer } from "effect"
import { CallDeliveriesHttp } from "./CallDeliveriesHttp.ts"
import { FirstStart } from "./FirstStart.ts"
import { HealthHttp } from "./HealthHttp.ts"
import { ClientAddress } from "./http/ClientAddress.ts"
import { Credits } from "./http/Credits.ts"
import { HttpServer } from "./http/HttpServer.ts"
import { httpSettings } from "./http/HttpSettings.ts"
import { PluginSockets } from "./http/PluginSockets.ts"
import { publicAddress } from "./http/PublicAddress.ts"
import { Readiness } from "./http/Readiness.ts"
import { Security } from "./http/Security.ts"
import { WorkspaceEdge } from "./http/WorkspaceEdge.ts"
import { VoicesHttp } from "./VoicesHttp.ts"

/** What everything stands on. It ends last: the database stays open, and sockets carry media, until calls are settled. */
const Ground = Layer.mergeAll(
  Database.layer,
  PluginLoader.layer(),
  PluginSockets.layer,
  HandlerRegistry.layer,
  Resolver.layer,
  Ticker.layer
)

const Repositories = Layer.mergeAll(
  AccountsRepo.layer,
  KeysRepo.layer,
  AgentsRepo.layer,
  AuditLogRepo.layer,
  KnowledgeBasesRepo.layer,
  SubscriptionsRepo.layer,
  WebhooksRepo.layer,
  DeliveriesRepo.layer,
  PhoneNumbersRepo.layer,
  SmsRepo.layer,
  LedgerRepo.layer,
  HoldsRepo.layer,
  UsageRepo.layer,
  CustomersRepo.layer,
  CustomerListRepo.layer,
  IdempotencyRepo.layer,
  Outbox.layer.pipe(Layer.provideMerge(DeliveryFanOut.layer))
)

const Accounting = Layer.mergeAll(Bootstrap.layer, Organizations.layer, Projects.layer, KeyRegister.layer).pipe(
  Layer.provideMerge(Keys.layer),
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, KeyUse.layer, TierLimits.layer, Billing.balance))
)

const Charging = Layer.mergeAll(Billing.layer, Usage.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Rates.layer, Tiers.layer))
)

/** A project's agents are deleted before its numbers are released, in the order of their locks: see Agents. */
const Agency = Layer.mergeAll(Sms.layer, NumbersOfAgent, NumbersOfProject, VoicePreviews.layer).pipe(
  Layer.provideMerge(PhoneNumbers.layer),
  Layer.provideMerge(AgentsOfProject),
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(Layer.mergeAll(Subscriptions.layer, UrlSafety.layer, Voices.layer))
)

/** Webhooks, and the delivery of events to them. It ends after the calls, whose last events it sends. */
const Notifying = Layer.mergeAll(Webhooks.layer, ProjectWebhooks.layer, WebhooksOfProject, TestDeliveries.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(DeliveryWorker, CleanupWorker.pipe(Layer.provide(Cron.layer)), Deliveries.layer)),
  Layer.provide(Layer.mergeAll(Receivers.layer, RetrySchedule.layer, QueueRepo.layer, AgentsToFilter))
)

/** Who is let in, and how often. */
const Admission = Layer.mergeAll(Security.layer, WorkspaceEdge.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(AuthFailures.layer, RateLimits.layer, Credits.layer)),
  Layer.provide(Layer.mergeAll(AuthFailuresRepo.layer, RateLimitsRepo.layer))
)

/** Calls, with links to this server. */
const Calling = CallEngineSlice.layer.pipe(
  Layer.provide(
    Layer.effect(
      PublicUrl,
      Effect.map(httpSettings, (http) => ({ base: publicAddress(http) }))
    )
  )
)

const Booking = Layer.mergeAll(Customers.layer, CustomerList.layer, Idempotency.layer, PurgeWorker).pipe(
  Layer.provideMerge(WorkspaceLimits.layer),
  Layer.provide(Cron.layer)
)

const Routes = Layer.mergeAll(
  OrganizationHttp,
  ProjectsHttp,
  ProjectHttp,
  AgentsHttp,
  PhoneNumbersHttp,
  SmsHttp,
  CallDeliveriesHttp,
  WebhooksHttp,
  ProjectWebhookHttp,
  UsageHttp,
  CreditsHttp,
  VoicesHttp,
  HealthHttp,
  CustomersHttp
)

/**
 * The whole server, from the bottom up (read from the end): ground, repositories, accounts, their money, agents and
 * numbers, calls, bookings, routes, HTTP. It ends from the top down: requests finish first, then the calls, then the rest.
 */
export const Server = HttpServer.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Routes, Admission, ClientAddress.layer, Readiness.layer, FirstStart.layer)),
  Layer.provideMerge(Booking),
  Layer.provideMerge(Calling),
  Layer.provideMerge(Notifying),
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(Agency),
  Layer.provideMerge(Charging),
  Layer.provideMerge(Accounting),
  Layer.provideMerge(Repositories),
  Layer.provideMerge(Ground)
)

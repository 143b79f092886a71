import * as AgentsSlice from "@svc/agents/AgentsSlice"
import { HandlerRegistry } from "@svc/api/Handlers"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import { VoiceApi } from "@svc/api/VoiceApi"
import * as AuthSlice from "@svc/auth/AuthSlice"
import * as BillingSlice from "@svc/billing/BillingSlice"
import * as BookingsSlice from "@svc/bookings/BookingsSlice"
import * as CallEngineSlice from "@svc/call-engine/CallEngineSlice"
import { Ticker } from "@svc/call-engine/media/Ticker"
import * as ChatSlice from "@svc/chat/ChatSlice"
import { Cron } from "@svc/cluster/Cron"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import { checkKeys } from "@svc/database/SecretRotation"
import { StoredSecrets } from "@svc/database/StoredSecrets"
import * as KnowledgeSlice from "@svc/knowledge/KnowledgeSlice"
import { VerifyHttp } from "@svc/matching/VerifyHttp"
import * as NumbersSlice from "@svc/numbers/NumbersSlice"
import * as SmsSlice from "@svc/sms/SmsSlice"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import * as WebhooksSlice from "@svc/webhooks/WebhooksSlice"
import { Effect, Layer } from "effect"
import { CallDeliveriesHttp } from "./CallDeliveriesHttp.ts"
import { CallTimelineHttp } from "./CallTimelineHttp.ts"
import { FirstStart } from "./FirstStart.ts"
import { HealthHttp } from "./HealthHttp.ts"
import { ClientAddress } from "./http/access/ClientAddress.ts"
import { Credits } from "./http/access/Credits.ts"
import { Security } from "./http/access/Security.ts"
import { DebugRoutes } from "./http/debug-page/DebugRoutes.ts"
import { documentRoutes } from "./http/documents/DocumentRoutes.ts"
import { GuideRoutes } from "./http/guides/GuideRoutes.ts"
import { HealthRoutes } from "./http/health/HealthRoutes.ts"
import { Readiness } from "./http/health/Readiness.ts"
import { HttpServer } from "./http/listening/HttpServer.ts"
import { httpSettings } from "./http/listening/HttpSettings.ts"
import { publicAddress } from "./http/listening/PublicAddress.ts"
import { MetricsRoutes } from "./http/metrics/MetricsRoutes.ts"
import { ServerMetrics } from "./http/metrics/ServerMetrics.ts"
import { PluginRoutes } from "./http/plugins/PluginRoutes.ts"
import { PluginSockets } from "./http/plugins/PluginSockets.ts"
import { WorkspacePipeline } from "./http/workspace/WorkspacePipeline.ts"
import { serverPlugins } from "./PluginHosting.ts"
import { CallTraces } from "./telemetry/CallTraces.ts"
import { MetricExport } from "./telemetry/MetricExport.ts"

const publicUrl = Layer.effect(
  PublicUrl,
  Effect.map(httpSettings, (http) => ({ base: publicAddress(http) }))
)

/** A server without the key of a stored secret does not start: it could not sign, and its receivers refuse. */
const secretKeys = Layer.effectDiscard(checkKeys)

/** The services below all slices. They end last: database and media sockets stay open until calls are settled. */
const Foundations = Layer.mergeAll(Cron.layer, DueCheck.layer, UrlSafety.layer, publicUrl).pipe(
  Layer.provideMerge(Layer.mergeAll(NodeLease.layer, WebhooksSlice.outbox, secretKeys, CallTraces)),
  Layer.provideMerge(serverPlugins),
  Layer.provideMerge(
    Layer.mergeAll(
      Database.layer,
      StoredSecrets.layer,
      PluginSockets.layer,
      HandlerRegistry.layer,
      RouteRegistry.layer,
      Resolver.layer,
      Ticker.layer
    )
  )
)

/** The HTTP parts that belong to no slice. */
const Http = Layer.mergeAll(
  CallDeliveriesHttp,
  CallTimelineHttp,
  HealthHttp,
  HealthRoutes.pipe(Layer.provide(ClientAddress.layer)),
  Layer.merge(MetricsRoutes, MetricExport).pipe(Layer.provide(ServerMetrics)),
  VerifyHttp,
  documentRoutes(VoiceApi),
  GuideRoutes,
  DebugRoutes,
  PluginRoutes,
  Security.layer.pipe(Layer.provide(Credits.layer)),
  WorkspacePipeline.layer,
  ClientAddress.layer,
  FirstStart.layer
).pipe(Layer.provide(Readiness.layer))

/**
 * The whole server, read from the end. Each slice builds on those below it and ends before them, so requests finish
 * first, then calls. The order of slices that do not need each other matters in two places:
 *
 * - Webhooks are below the call engine: the last events of calls are delivered before deliveries end.
 * - Agents are below numbers and knowledge: the deletion of a project runs the slices' hooks in the order in which they
 *   were built, and so locks agents before numbers, as the deletion of an agent does.
 */
export const Server = HttpServer.layer.pipe(
  Layer.provideMerge(Http),
  Layer.provideMerge(ChatSlice.layer),
  Layer.provideMerge(BookingsSlice.layer),
  Layer.provideMerge(CallEngineSlice.layer),
  Layer.provideMerge(WebhooksSlice.layer),
  Layer.provideMerge(SmsSlice.layer),
  Layer.provideMerge(NumbersSlice.layer),
  Layer.provideMerge(KnowledgeSlice.layer),
  Layer.provideMerge(AgentsSlice.layer),
  Layer.provideMerge(WebhooksSlice.agentWebhooks),
  Layer.provideMerge(BillingSlice.layer),
  Layer.provideMerge(AuthSlice.layer),
  Layer.provideMerge(BillingSlice.balance),
  Layer.provideMerge(Foundations)
)

import type { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import type { Voices } from "@svc/agents/Voices"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { RouteRegistry } from "@svc/api/PlainRoutes"
import { Projects } from "@svc/auth/Projects"
import type { Billing } from "@svc/billing/Billing"
import type { Usage } from "@svc/billing/Usage"
import type { Cron } from "@svc/cluster/Cron"
import type { DueCheck } from "@svc/cluster/DueCheck"
import type { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import type { Database } from "@svc/database/Database"
import type { Outbox } from "@svc/database/Outbox"
import type { KnowledgeSearch } from "@svc/knowledge/KnowledgeSearch"
import type { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import type { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import type { ObjectStore } from "@svc/providers/ObjectStore"
import type { Providers } from "@svc/providers/Providers"
import type { Sms } from "@svc/sms/Sms"
import type { PublicUrl } from "@svc/urls/PublicUrl"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import { type ConfigError, Effect, Layer } from "effect"
import { AgentServerClient } from "./agent-server/AgentServerClient.ts"
import { BrowserCalls } from "./links/BrowserCalls.ts"
import { BrowserCallsHttp } from "./links/BrowserCallsHttp.ts"
import { CallLinksRepo } from "./links/CallLinksRepo.ts"
import { CallLinksWorker } from "./links/CallLinksWorker.ts"
import { CallAdmission } from "./live/CallAdmission.ts"
import { CallControl } from "./live/CallControl.ts"
import { InboundCalls } from "./live/InboundCalls.ts"
import { LiveCalls } from "./live/LiveCalls.ts"
import { LocalCallControl } from "./live/LocalCallControl.ts"
import { OutboundCalls } from "./live/OutboundCalls.ts"
import { Recovery } from "./live/Recovery.ts"
import type { Ticker } from "./media/Ticker.ts"
import { CallQueriesRepo } from "./record/CallQueriesRepo.ts"
import { Calls } from "./record/Calls.ts"
import { CallsHttp } from "./record/CallsHttp.ts"
import { CallsRepo } from "./record/CallsRepo.ts"
import { DebugLinks } from "./record/DebugLinks.ts"
import { DebugLinksRepo } from "./record/DebugLinksRepo.ts"
import { JournalRepo } from "./record/JournalRepo.ts"
import { LiveCallWriter } from "./record/LiveCallWriter.ts"
import { ServerRequestsRepo } from "./record/ServerRequestsRepo.ts"
import { Settlement } from "./record/Settlement.ts"
import { Timelines } from "./record/Timelines.ts"
import { Mp3Encoder } from "./recording/Mp3Encoder.ts"
import { Recorder } from "./recording/Recorder.ts"
import { RecordingHttp } from "./recording/RecordingHttp.ts"
import { RecordingLinks } from "./recording/RecordingLinks.ts"
import * as RecordingStore from "./recording/RecordingStore.ts"
import { Recordings } from "./recording/Recordings.ts"
import { RecordingsRepo } from "./recording/RecordingsRepo.ts"
import { RetentionWorker } from "./recording/RetentionWorker.ts"
import { CallKnowledge } from "./session/CallKnowledge.ts"
import { CallMessages } from "./session/CallMessages.ts"
import { SpeechCache } from "./speech/SpeechCache.ts"
import { TestSessions } from "./test-sessions/TestSessions.ts"
import { TestSessionsHttp } from "./test-sessions/TestSessionsHttp.ts"
import { TestSessionsRepo } from "./test-sessions/TestSessionsRepo.ts"

/** An agent with live calls on any node can be neither deleted nor cloned. */
export const AgentsInCalls: Layer.Layer<never, never, Agents | CallsRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const repo = yield* CallsRepo
    yield* agents.activeWhen("calls", repo.hasLive)
  })
)

/**
 * Ends the live calls of deleted projects: at once when this node deletes the project, and within 2 s when another node
 * did, or when a node died between the deletion and its hooks.
 */
export const CallsOfDeletedProjects: Layer.Layer<never, never, Projects | CallControl> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const control = yield* CallControl
    yield* projects.afterDelete("calls", (project) => control.endAllOf([project.id]))
    yield* startPeriodicTask({
      every: "1 second",
      run: control.localProjects.pipe(Effect.flatMap(projects.deletedAmong), Effect.flatMap(control.endAllOf)),
      failureMessage: "Could not check whether live calls belong to deleted projects; retrying"
    })
  })
)

/** Ends idle test sessions, once a minute on every node. */
export const IdleTestSessions: Layer.Layer<never, never, TestSessions> = Layer.scopedDiscard(
  Effect.flatMap(TestSessions, ({ sweep }) =>
    startPeriodicTask({
      every: "1 minute",
      run: sweep,
      failureMessage: "Could not end the test sessions that had no message for 30 minutes; retrying"
    })
  )
)

/** The call links of a deleted agent or project are deleted with it. */
export const LinksOfDeletedAgents: Layer.Layer<never, never, Agents | Projects | CallLinksRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const projects = yield* Projects
    const links = yield* CallLinksRepo
    yield* agents.onDelete("call links", links.deleteOfAgent)
    yield* projects.onDelete("call links", (project) => links.deleteOfProject(project.id))
  })
)

type Services =
  | BrowserCalls
  | CallControl
  | Calls
  | DebugLinks
  | LiveCalls
  | OutboundCalls
  | Recordings
  | TestSessions
  | Timelines

/** Services of other packages that the slice requires. */
type Needs =
  | (
      | Agents
      | Billing
      | Database
      | DueCheck
      | KnowledgeSearch
      | NodeLease
      | OutboundNumbers
      | Outbox
      | PhoneNumbers
      | Projects
      | Providers
      | Sms
      | SqlClient.SqlClient
    )
  | (UrlSafety | Usage | Voices)

/**
 * Live calls, their records and recordings, with the parts and repositories that tests read. Tests replace
 * `ObjectStore`, `PublicUrl`, `SpeechCache` and `Ticker`. On release, live calls first say their farewell and are settled, so what it
 * requires must outlive it.
 */
export const services: Layer.Layer<
  | Services
  | (
      | CallAdmission
      | AgentServerClient
      | CallKnowledge
      | CallMessages
      | LiveCallWriter
      | Recorder
      | RecordingLinks
      | Recovery
      | Settlement
    )
  | (CallsRepo | CallLinksRepo | CallQueriesRepo | JournalRepo | ServerRequestsRepo | DebugLinksRepo | RecordingsRepo),
  ConfigError.ConfigError,
  Needs | ObjectStore | PublicUrl | SpeechCache | Ticker
> = Layer.mergeAll(
  DebugLinks.layer,
  Timelines.layer,
  OutboundCalls.layer,
  BrowserCalls.layer,
  AgentsInCalls,
  LinksOfDeletedAgents,
  InboundCalls,
  Recovery.onNodeDeath,
  TestSessions.layer.pipe(Layer.provide(TestSessionsRepo.layer))
).pipe(
  Layer.provideMerge(Calls.layer),
  Layer.provideMerge(LocalCallControl),
  Layer.provideMerge(LiveCalls.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      AgentServerClient.layer,
      CallKnowledge.layer,
      CallMessages.layer,
      CallAdmission.layer,
      LiveCallWriter.layer,
      Recovery.layer,
      Recordings.layer
    )
  ),
  Layer.provideMerge(Layer.mergeAll(Recorder.layer, RecordingLinks.layer, Settlement.layer)),
  Layer.provide(Mp3Encoder.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      CallsRepo.layer,
      CallLinksRepo.layer,
      CallQueriesRepo.layer,
      JournalRepo.layer,
      ServerRequestsRepo.layer,
      DebugLinksRepo.layer,
      RecordingsRepo.layer
    )
  )
)

/**
 * The slice in a server: {@link services} with recordings in the store of a plugin or in a folder, handlers and workers. Provide it above webhooks,
 * which deliver the last events of calls.
 */
export const layer: Layer.Layer<
  Services,
  ConfigError.ConfigError,
  Needs | Cron | HandlerRegistry | PublicUrl | RouteRegistry | Ticker
> = Layer.mergeAll(
  CallsHttp,
  BrowserCallsHttp,
  CallLinksWorker,
  TestSessionsHttp,
  RecordingHttp,
  CallsOfDeletedProjects,
  IdleTestSessions,
  RetentionWorker
).pipe(Layer.provideMerge(services), Layer.provide([RecordingStore.layer, SpeechCache.layer]))

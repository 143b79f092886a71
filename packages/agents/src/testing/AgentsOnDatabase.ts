import type { SqlClient } from "@effect/sql"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import type { Subscriptions } from "@svc/webhooks/Subscriptions"
import { SubscriptionsOnDatabase } from "@svc/webhooks/testing/SubscriptionsOnDatabase"
import { Layer } from "effect"
import { Agents } from "../Agents.ts"
import { AgentsRepo } from "../AgentsRepo.ts"
import { AuditLogRepo } from "../AuditLogRepo.ts"
import { KnowledgeBasesRepo } from "../KnowledgeBasesRepo.ts"
import type { Voices } from "../Voices.ts"

/** Agents with all that they keep in a database that is given, for tests of this package and of those that use it. */
export const AgentsOnDatabase: Layer.Layer<
  Agents | AgentsRepo | Subscriptions,
  never,
  UrlSafety | Voices | SqlClient.SqlClient
> = Agents.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(AgentsRepo.layer, SubscriptionsOnDatabase)),
  Layer.provide(Layer.mergeAll(AuditLogRepo.layer, KnowledgeBasesRepo.layer))
)

import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { NodeLease } from "@svc/cluster/NodeLease"
import { type ConfigError, Layer } from "effect"
import { Accounts } from "./Accounts.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { Administration } from "./Administration.ts"
import { AuthFailures } from "./AuthFailures.ts"
import { AuthFailuresRepo } from "./AuthFailuresRepo.ts"
import type { Balance } from "./Balance.ts"
import { Bootstrap } from "./Bootstrap.ts"
import { KeyManagement } from "./KeyManagement.ts"
import { Keys } from "./Keys.ts"
import { KeysRepo } from "./KeysRepo.ts"
import { KeyUse } from "./KeyUse.ts"
import { OrganizationHttp } from "./OrganizationHttp.ts"
import { Organizations } from "./Organizations.ts"
import { ProjectHttp } from "./ProjectHttp.ts"
import { Projects } from "./Projects.ts"
import { ProjectsHttp } from "./ProjectsHttp.ts"
import { RateLimits } from "./RateLimits.ts"
import { RateLimitsRepo } from "./RateLimitsRepo.ts"
import { TierLimits } from "./TierLimits.ts"
import { Tiers } from "./Tiers.ts"
import { WorkspaceLimits } from "./WorkspaceLimits.ts"

/** The part that billing needs: organizations, projects and tiers, with the repository that tests read. */
export const accounts: Layer.Layer<
  Accounts | TierLimits | Tiers | AccountsRepo,
  ConfigError.ConfigError,
  SqlClient.SqlClient
> = Layer.mergeAll(Accounts.layer, TierLimits.layer, Tiers.layer).pipe(Layer.provideMerge(AccountsRepo.layer))

type Services =
  | Accounts
  | Administration
  | KeyManagement
  | Keys
  | KeyUse
  | Organizations
  | Projects
  | TierLimits
  | Tiers

/**
 * {@link accounts} with administration and keys. Needs no node lease: the `svc` commands use it beside a running
 * server.
 */
export const services: Layer.Layer<
  Services | AccountsRepo | KeysRepo,
  ConfigError.ConfigError,
  Balance | SqlClient.SqlClient
> = Administration.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Organizations.layer, Projects.layer, KeyManagement.layer)),
  Layer.provideMerge(Keys.layer),
  Layer.provideMerge(KeyUse.layer),
  Layer.provideMerge(Layer.merge(KeysRepo.layer, accounts))
)

/** Handlers of organizations, projects and keys. */
export const handlers: Layer.Layer<never, never, Organizations | Projects | KeyManagement | HandlerRegistry> =
  Layer.mergeAll(OrganizationHttp, ProjectsHttp, ProjectHttp)

/**
 * The slice in a server: {@link services} with their handlers, the limits on requests, which tests replace, and {@link
 * Bootstrap}. `Balance` comes from `BillingSlice.balance`, because the rest of billing needs the tiers of this slice.
 */
export const layer: Layer.Layer<
  Services | AuthFailures | Bootstrap | RateLimits | WorkspaceLimits,
  ConfigError.ConfigError,
  Balance | NodeLease | HandlerRegistry | SqlClient.SqlClient
> = Layer.mergeAll(handlers, AuthFailures.layer, Bootstrap.layer, RateLimits.layer, WorkspaceLimits.layer).pipe(
  Layer.provide(Layer.mergeAll(AuthFailuresRepo.layer, RateLimitsRepo.layer)),
  Layer.provideMerge(services)
)

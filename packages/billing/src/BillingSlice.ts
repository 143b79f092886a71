import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { Balance } from "@svc/auth/Balance"
import type { TierLimits } from "@svc/auth/TierLimits"
import type { Tiers } from "@svc/auth/Tiers"
import { type ConfigError, Layer } from "effect"
import { Billing } from "./Billing.ts"
import { CallSlotsRepo } from "./CallSlotsRepo.ts"
import { CreditsHttp } from "./CreditsHttp.ts"
import { Holds } from "./Holds.ts"
import { LedgerRepo } from "./LedgerRepo.ts"
import { Rates } from "./Rates.ts"
import { Usage } from "./Usage.ts"
import { UsageHttp } from "./UsageHttp.ts"
import { UsageRepo } from "./UsageRepo.ts"

/** The port of the auth slice. Apart from the other layers, because they need auth's tiers. */
export const balance: Layer.Layer<Balance, never, SqlClient.SqlClient> = Billing.balance.pipe(
  Layer.provide(LedgerRepo.layer)
)

/** Credits, holds, usage and rates, with the repositories that tests read. */
export const services: Layer.Layer<
  Billing | Holds | Rates | Usage | LedgerRepo | UsageRepo,
  ConfigError.ConfigError,
  TierLimits | Tiers | SqlClient.SqlClient
> = Layer.mergeAll(Billing.layer, Usage.layer).pipe(
  Layer.provide(CallSlotsRepo.layer),
  Layer.provideMerge(Holds.layer),
  Layer.provideMerge(Layer.mergeAll(Rates.layer, LedgerRepo.layer, UsageRepo.layer))
)

/** The slice in a server: {@link services} with their handlers. Tests replace none of it. */
export const layer: Layer.Layer<
  Billing | Holds | Rates | Usage,
  ConfigError.ConfigError,
  TierLimits | Tiers | HandlerRegistry | SqlClient.SqlClient
> = Layer.mergeAll(UsageHttp, CreditsHttp).pipe(Layer.provideMerge(services))

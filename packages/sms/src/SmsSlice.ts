import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { Tiers } from "@svc/auth/Tiers"
import type { Holds } from "@svc/billing/Holds"
import type { Rates } from "@svc/billing/Rates"
import type { Usage } from "@svc/billing/Usage"
import type { DueCheck } from "@svc/cluster/DueCheck"
import type { NodeLease } from "@svc/cluster/NodeLease"
import type { Outbox } from "@svc/database/Outbox"
import type { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import type { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import type { Providers } from "@svc/providers/Providers"
import { Layer } from "effect"
import { Sms } from "./Sms.ts"
import { SmsDispatch } from "./SmsDispatch.ts"
import { SmsHttp } from "./SmsHttp.ts"
import { SmsRecoveryWorker } from "./SmsRecoveryWorker.ts"
import { SmsRepo } from "./SmsRepo.ts"

/** Text messages, with their private parts, which tests use. */
export const services: Layer.Layer<
  Sms | SmsDispatch | SmsRepo,
  never,
  Holds | NodeLease | Outbox | OutboundNumbers | PhoneNumbers | Providers | Rates | Tiers | Usage | SqlClient.SqlClient
> = Sms.layer.pipe(Layer.provideMerge(SmsDispatch.layer), Layer.provideMerge(SmsRepo.layer))

/** The slice in a server: {@link services} with their handlers and their worker. Tests replace none of it. */
export const layer: Layer.Layer<
  Sms,
  never,
  | DueCheck
  | HandlerRegistry
  | Holds
  | NodeLease
  | Outbox
  | OutboundNumbers
  | PhoneNumbers
  | Providers
  | Rates
  | Tiers
  | Usage
  | SqlClient.SqlClient
> = Layer.merge(SmsHttp, SmsRecoveryWorker).pipe(Layer.provideMerge(services))

import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { Tiers } from "@svc/auth/Tiers"
import type { Holds } from "@svc/billing/Holds"
import type { Rates } from "@svc/billing/Rates"
import type { Usage } from "@svc/billing/Usage"
import type { Outbox } from "@svc/database/Outbox"
import type { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import type { Providers } from "@svc/providers/Providers"
import { Layer } from "effect"
import { Sms } from "./Sms.ts"
import { SmsHttp } from "./SmsHttp.ts"
import { SmsRepo } from "./SmsRepo.ts"

/** Text messages, with the repository that tests read. */
export const services: Layer.Layer<
  Sms | SmsRepo,
  never,
  Holds | Outbox | PhoneNumbers | Providers | Rates | Tiers | Usage | SqlClient.SqlClient
> = Sms.layer.pipe(Layer.provideMerge(SmsRepo.layer))

/** The slice in a server: {@link services} with their handlers. Tests replace none of it. */
export const layer: Layer.Layer<
  Sms,
  never,
  HandlerRegistry | Holds | Outbox | PhoneNumbers | Providers | Rates | Tiers | Usage | SqlClient.SqlClient
> = SmsHttp.pipe(Layer.provideMerge(services))

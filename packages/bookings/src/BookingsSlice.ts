import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { WorkspaceLimits } from "@svc/auth/WorkspaceLimits"
import type { Cron } from "@svc/cluster/Cron"
import type { Outbox } from "@svc/database/Outbox"
import { Layer } from "effect"
import { CustomerList } from "./CustomerList.ts"
import { CustomerListRepo } from "./CustomerListRepo.ts"
import { Customers } from "./Customers.ts"
import { CustomersHttp } from "./CustomersHttp.ts"
import { CustomersRepo } from "./CustomersRepo.ts"
import { Idempotency } from "./Idempotency.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"
import { PurgeWorker } from "./PurgeWorker.ts"

/** Customers and idempotency keys, with the repositories that tests read. */
export const services: Layer.Layer<
  CustomerList | Customers | Idempotency | CustomerListRepo | CustomersRepo | IdempotencyRepo,
  never,
  Outbox | WorkspaceLimits | SqlClient.SqlClient
> = Layer.mergeAll(Customers.layer, CustomerList.layer, Idempotency.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(CustomersRepo.layer, CustomerListRepo.layer, IdempotencyRepo.layer))
)

/** The slice in a server: {@link services} with their handlers and the purge of the recycle bin. Tests replace none of it. */
export const layer: Layer.Layer<
  CustomerList | Customers | Idempotency,
  never,
  Cron | HandlerRegistry | Outbox | WorkspaceLimits | SqlClient.SqlClient
> = Layer.mergeAll(CustomersHttp, PurgeWorker).pipe(Layer.provideMerge(services))

import type { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { Accounts } from "@svc/auth/Accounts"
import { Projects } from "@svc/auth/Projects"
import type { Tiers } from "@svc/auth/Tiers"
import type { Holds } from "@svc/billing/Holds"
import type { Rates } from "@svc/billing/Rates"
import type { Cron } from "@svc/cluster/Cron"
import type { DueCheck } from "@svc/cluster/DueCheck"
import type { NodeLease } from "@svc/cluster/NodeLease"
import type { Outbox } from "@svc/database/Outbox"
import type { Providers } from "@svc/providers/Providers"
import { type ConfigError, Effect, Layer } from "effect"
import { Addresses } from "./addresses/Addresses.ts"
import { AddressesHttp } from "./addresses/AddressesHttp.ts"
import { AddressesRepo } from "./addresses/AddressesRepo.ts"
import { VerificationWorker } from "./addresses/VerificationWorker.ts"
import { NumberOrders } from "./carrier/NumberOrders.ts"
import { NumberOrdersRepo } from "./carrier/NumberOrdersRepo.ts"
import { NumberRent } from "./carrier/NumberRent.ts"
import { NumberSearch } from "./carrier/NumberSearch.ts"
import { OrderFulfilment } from "./carrier/OrderFulfilment.ts"
import { OrderWorker } from "./carrier/OrderWorker.ts"
import { Reconciliation } from "./carrier/Reconciliation.ts"
import { OutboundNumbers } from "./OutboundNumbers.ts"
import { PhoneNumbers } from "./PhoneNumbers.ts"
import { PhoneNumbersHttp } from "./PhoneNumbersHttp.ts"
import { PhoneNumbersRepo } from "./PhoneNumbersRepo.ts"

/**
 * Part of the transactions that delete an agent or a project: the agent's numbers are left without an agent, the
 * project's are released, so that another can register them, and its addresses are deleted. Projects run their hooks in the order of registration;
 * this one comes after that of agents, whose rows are locked first.
 */
const releaseOnDelete: Layer.Layer<never, never, AddressesRepo | Agents | Projects | PhoneNumbersRepo> =
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const agents = yield* Agents
      const projects = yield* Projects
      const repo = yield* PhoneNumbersRepo
      const addresses = yield* AddressesRepo
      yield* agents.onDelete("numbers", repo.unassignAll)
      yield* projects.onDelete("numbers", (project) => repo.releaseAll(project.id))
      yield* projects.onDelete("addresses", (project) => addresses.removeAll(project.id))
    })
  )

/** Phone numbers, addresses and which numbers may be called, with the repositories that tests read. */
export const services: Layer.Layer<
  Addresses | AddressesRepo | OutboundNumbers | PhoneNumbers | PhoneNumbersRepo,
  ConfigError.ConfigError,
  Accounts | Agents | Outbox | Projects | Providers | SqlClient.SqlClient
> = Layer.mergeAll(PhoneNumbers.layer, Addresses.layer, OutboundNumbers.layer, releaseOnDelete).pipe(
  Layer.provideMerge(Layer.merge(PhoneNumbersRepo.layer, AddressesRepo.layer))
)

/** Numbers of carriers: search, orders, rent and reconciliation, on {@link services}. */
export const carrierServices: Layer.Layer<
  NumberOrders | NumberOrdersRepo | NumberRent | NumberSearch | OrderFulfilment | Reconciliation,
  never,
  Addresses | Agents | Holds | NodeLease | PhoneNumbersRepo | Projects | Providers | Rates | Tiers | SqlClient.SqlClient
> = Layer.mergeAll(NumberOrders.layer, NumberRent.layer, Reconciliation.layer).pipe(
  Layer.provideMerge(Layer.merge(NumberSearch.layer, OrderFulfilment.layer)),
  Layer.provideMerge(NumberOrdersRepo.layer)
)

/** The slice in a server: its services with their handlers and workers. Tests replace none of it. */
export const layer: Layer.Layer<
  Addresses | OutboundNumbers | PhoneNumbers,
  ConfigError.ConfigError,
  | Accounts
  | Agents
  | Cron
  | DueCheck
  | HandlerRegistry
  | Holds
  | NodeLease
  | Outbox
  | Projects
  | Providers
  | Rates
  | Tiers
  | SqlClient.SqlClient
> = Layer.mergeAll(
  PhoneNumbersHttp,
  AddressesHttp,
  VerificationWorker,
  OrderWorker,
  OutboundNumbers.refreshing,
  NumberRent.worker,
  Reconciliation.worker
).pipe(Layer.provide(carrierServices), Layer.provideMerge(services))

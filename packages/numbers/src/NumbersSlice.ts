import type { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import type { HandlerRegistry } from "@svc/api/Handlers"
import { Projects } from "@svc/auth/Projects"
import type { NodeLease } from "@svc/cluster/NodeLease"
import type { Outbox } from "@svc/database/Outbox"
import type { Providers } from "@svc/providers/Providers"
import { Effect, Layer } from "effect"
import { Addresses } from "./addresses/Addresses.ts"
import { AddressesHttp } from "./addresses/AddressesHttp.ts"
import { AddressesRepo } from "./addresses/AddressesRepo.ts"
import { VerificationWorker } from "./addresses/VerificationWorker.ts"
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

/** Phone numbers and addresses, with the repositories that tests read. */
export const services: Layer.Layer<
  Addresses | AddressesRepo | PhoneNumbers | PhoneNumbersRepo,
  never,
  Agents | Outbox | Projects | Providers | SqlClient.SqlClient
> = Layer.mergeAll(PhoneNumbers.layer, Addresses.layer, releaseOnDelete).pipe(
  Layer.provideMerge(Layer.merge(PhoneNumbersRepo.layer, AddressesRepo.layer))
)

/** The slice in a server: {@link services} with their handlers and workers. Tests replace none of it. */
export const layer: Layer.Layer<
  Addresses | PhoneNumbers,
  never,
  Agents | HandlerRegistry | NodeLease | Outbox | Projects | Providers | SqlClient.SqlClient
> = Layer.mergeAll(PhoneNumbersHttp, AddressesHttp, VerificationWorker).pipe(Layer.provideMerge(services))

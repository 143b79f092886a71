import type { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import type { HandlerRegistry } from "@svc/api/Handlers"
import { Projects } from "@svc/auth/Projects"
import type { Providers } from "@svc/providers/Providers"
import { Effect, Layer } from "effect"
import { PhoneNumbers } from "./PhoneNumbers.ts"
import { PhoneNumbersHttp } from "./PhoneNumbersHttp.ts"
import { PhoneNumbersRepo } from "./PhoneNumbersRepo.ts"

/**
 * Part of the transactions that delete an agent or a project: the agent's numbers are left without an agent, the
 * project's are released, so that another can register them. Projects run their hooks in the order of registration;
 * this one comes after that of agents, whose rows are locked first.
 */
const releaseOnDelete: Layer.Layer<never, never, Agents | Projects | PhoneNumbersRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const agents = yield* Agents
    const projects = yield* Projects
    const repo = yield* PhoneNumbersRepo
    yield* agents.onDelete("numbers", repo.unassignAll)
    yield* projects.onDelete("numbers", (project) => repo.releaseAll(project.id))
  })
)

/** Phone numbers, with the repository that tests read. */
export const services: Layer.Layer<
  PhoneNumbers | PhoneNumbersRepo,
  never,
  Agents | Projects | Providers | SqlClient.SqlClient
> = Layer.merge(PhoneNumbers.layer, releaseOnDelete).pipe(Layer.provideMerge(PhoneNumbersRepo.layer))

/** The slice in a server: {@link services} with their handlers. Tests replace none of it. */
export const layer: Layer.Layer<
  PhoneNumbers,
  never,
  Agents | HandlerRegistry | Projects | Providers | SqlClient.SqlClient
> = PhoneNumbersHttp.pipe(Layer.provideMerge(services))

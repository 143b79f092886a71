import { Projects } from "@svc/auth/Projects"
import { Effect, Layer } from "effect"
import { AgentsRepo } from "./AgentsRepo.ts"

/** The agents of a project that is deleted go with it, in the same transaction. */
export const AgentsOfProject: Layer.Layer<never, never, Projects | AgentsRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* AgentsRepo
    yield* projects.onDelete("agents", (project) => repo.deleteAll(project.id))
  })
)

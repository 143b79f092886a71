import { Projects } from "@svc/auth/Projects"
import { Subscriptions } from "@svc/webhooks/Subscriptions"
import { Effect, Layer } from "effect"
import { AgentsRepo } from "./AgentsRepo.ts"

/** The agents of a project that is deleted go with it, and their webhooks, in the same transaction. */
export const AgentsOfProject: Layer.Layer<never, never, Projects | AgentsRepo | Subscriptions> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* AgentsRepo
    const subscriptions = yield* Subscriptions
    // The agents first: after that nobody is changing one of them, and giving it a webhook.
    yield* projects.onDelete("agents", (project) =>
      Effect.zipRight(repo.deleteAll(project.id), subscriptions.removeOfAgentsOf(project.id))
    )
  })
)

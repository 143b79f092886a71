import { Projects } from "@svc/auth/Projects"
import { Effect, Layer } from "effect"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/** The webhooks of a project that is deleted go with it, in the same transaction. Those of its agents go with the agents. */
export const WebhooksOfProject: Layer.Layer<never, never, Projects | WebhooksRepo> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* WebhooksRepo
    yield* projects.onDelete("webhooks", (project) =>
      Effect.flatMap(repo.idsOfProject(project.id), (ids) => Effect.forEach(ids, repo.delete, { discard: true }))
    )
  })
)

import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Knowledge } from "./Knowledge.ts"

/** Handlers of `/v1/knowledge-bases`. */
export const KnowledgeHttp: Layer.Layer<never, never, Knowledge | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "knowledgeBases",
  Effect.gen(function* () {
    const knowledge = yield* Knowledge
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => knowledge.list(project, urlParams)),
      create: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return { knowledge_base: yield* knowledge.create({ ...principal, project }, payload) }
        }),
      get: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(knowledge.get(project, path.knowledgeBaseId), (knowledge_base) => ({ knowledge_base }))
        ),
      update: ({ path, payload }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(knowledge.update(project, path.knowledgeBaseId, payload), (knowledge_base) => ({
            knowledge_base
          }))
        ),
      refresh: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(knowledge.refresh(project, path.knowledgeBaseId), { status: "refreshing" } as const)
        ),
      remove: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.as(knowledge.remove(project, path.knowledgeBaseId), { deleted: true } as const)
        )
    }
  })
)

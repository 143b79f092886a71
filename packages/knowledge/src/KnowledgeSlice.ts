import type { SqlClient } from "@effect/sql"
import type { Agents } from "@svc/agents/Agents"
import type { HandlerRegistry } from "@svc/api/Handlers"
import { Projects } from "@svc/auth/Projects"
import { Effect, Layer } from "effect"
import { Knowledge } from "./Knowledge.ts"
import { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { KnowledgeHttp } from "./KnowledgeHttp.ts"
import { KnowledgeSearch } from "./KnowledgeSearch.ts"
import { PassagesRepo } from "./PassagesRepo.ts"

/**
 * Deletes the knowledge bases of a deleted project in the same transaction. The hook of agents runs before: it removes
 * the links to the bases.
 */
const deleteWithProject: Layer.Layer<never, never, KnowledgeBasesRepo | PassagesRepo | Projects> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const bases = yield* KnowledgeBasesRepo
    const passages = yield* PassagesRepo
    yield* projects.onDelete("knowledge", ({ id }) => Effect.flatMap(bases.removeAll(id), passages.remove))
  })
)

/** Knowledge bases and their passages. */
export const services: Layer.Layer<Knowledge | KnowledgeSearch, never, Agents | Projects | SqlClient.SqlClient> =
  Layer.mergeAll(Knowledge.layer, KnowledgeSearch.layer, deleteWithProject).pipe(
    Layer.provide(Layer.merge(KnowledgeBasesRepo.layer, PassagesRepo.layer))
  )

/** The slice in a server: {@link services} and the handlers. Tests replace nothing of it. */
export const layer: Layer.Layer<
  Knowledge | KnowledgeSearch,
  never,
  Agents | HandlerRegistry | Projects | SqlClient.SqlClient
> = KnowledgeHttp.pipe(Layer.provideMerge(services))

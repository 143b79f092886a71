import type { SqlClient } from "@effect/sql"
import type { Agents } from "@svc/agents/Agents"
import type { HandlerRegistry } from "@svc/api/Handlers"
import { Projects } from "@svc/auth/Projects"
import type { DueCheck } from "@svc/cluster/DueCheck"
import type { NodeLease } from "@svc/cluster/NodeLease"
import type { Outbox } from "@svc/database/Outbox"
import type { Providers } from "@svc/providers/Providers"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import { Effect, Layer } from "effect"
import { Knowledge } from "./Knowledge.ts"
import { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { KnowledgeChanges } from "./KnowledgeChanges.ts"
import { KnowledgeHttp } from "./KnowledgeHttp.ts"
import { KnowledgeSearch } from "./KnowledgeSearch.ts"
import { PassagesRepo } from "./PassagesRepo.ts"
import { PageFetcher } from "./refresh/PageFetcher.ts"
import { PageReader } from "./refresh/PageReader.ts"
import { RefreshesRepo } from "./refresh/RefreshesRepo.ts"
import { RefreshWorker } from "./refresh/RefreshWorker.ts"
import { SourceReader } from "./refresh/SourceReader.ts"
import { EmbeddingModel } from "./vectors/EmbeddingModel.ts"
import { EmbeddingWorker } from "./vectors/EmbeddingWorker.ts"
import { VectorSearch } from "./vectors/VectorSearch.ts"
import { VectorsRepo } from "./vectors/VectorsRepo.ts"

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

/** The embedding provider and the vectors that it made. */
const embedding: Layer.Layer<EmbeddingModel | VectorsRepo, never, Providers | SqlClient.SqlClient> =
  EmbeddingModel.layer.pipe(Layer.provideMerge(VectorsRepo.layer))

/** Knowledge bases and their passages, with the parts of the workers. */
export const services: Layer.Layer<
  | KnowledgeChanges
  | EmbeddingModel
  | Knowledge
  | KnowledgeSearch
  | PassagesRepo
  | RefreshesRepo
  | VectorSearch
  | VectorsRepo,
  never,
  Agents | Projects | Providers | UrlSafety | SqlClient.SqlClient
> = Layer.mergeAll(Knowledge.layer, KnowledgeSearch.layer, deleteWithProject).pipe(
  Layer.provideMerge(VectorSearch.layer),
  Layer.provideMerge(Layer.mergeAll(KnowledgeChanges.layer, PassagesRepo.layer, RefreshesRepo.layer, embedding)),
  Layer.provide(KnowledgeBasesRepo.layer)
)

/** The worker with what it reads sources by, on {@link services}. */
export const refreshing: Layer.Layer<
  never,
  never,
  DueCheck | KnowledgeChanges | NodeLease | Outbox | PassagesRepo | RefreshesRepo | UrlSafety | SqlClient.SqlClient
> = RefreshWorker.pipe(
  Layer.provide(SourceReader.layer),
  Layer.provide(Layer.merge(PageFetcher.layer, PageReader.layer))
)

/** The slice in a server: {@link services} with the handlers and the workers. Tests replace nothing of it. */
export const layer: Layer.Layer<
  Knowledge | KnowledgeSearch,
  never,
  Agents | DueCheck | HandlerRegistry | NodeLease | Outbox | Projects | Providers | UrlSafety | SqlClient.SqlClient
> = Layer.mergeAll(KnowledgeHttp, refreshing, EmbeddingWorker).pipe(Layer.provideMerge(services))

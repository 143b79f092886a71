import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { BadRequest, ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import {
  KnowledgeBase,
  KnowledgeBaseCreate,
  KnowledgeBaseNotFound,
  KnowledgeBaseNotRefreshable,
  KnowledgeBaseUpdate
} from "./KnowledgeBase.ts"

const One = Schema.Struct({ knowledge_base: KnowledgeBase })
const knowledgeBaseId = Schema.Struct({ knowledgeBaseId: AnyId })

/** `/v1/knowledge-bases`. See docs/reference/knowledge.md. */
export const KnowledgeBasesApi = HttpApiGroup.make("knowledgeBases")
  .annotateContext(
    OpenApi.annotations({
      title: "Knowledge bases",
      description:
        "What agents know beside their prompts: texts, web pages and question-answer pairs, cut into passages."
    })
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/knowledge-bases")
      .annotateContext(
        OpenApi.annotations({
          summary: "List knowledge bases",
          description:
            "Newest first, without `content` and `entries`. `after` is the public or numeric id of the last one seen."
        })
      )
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
          after: Schema.optional(Schema.String)
        })
      )
      .addSuccess(
        Schema.Struct({ knowledge_bases: Schema.Array(KnowledgeBase), next_cursor: Schema.NullOr(Schema.String) })
      )
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/knowledge-bases")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a knowledge base",
          description:
            "From one of `content`, `source_url` and `entries`. A `source_url` is then read; the base is `refreshing` until it was. Agents use the base when it is in their `knowledge_base_ids`."
        })
      )
      .setPayload(KnowledgeBaseCreate)
      .addSuccess(One, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/knowledge-bases/:knowledgeBaseId")
      .annotateContext(
        OpenApi.annotations({ summary: "Get a knowledge base", description: "By public or numeric id." })
      )
      .setPath(knowledgeBaseId)
      .addSuccess(One)
      .addError(KnowledgeBaseNotFound.wire)
  )
  .add(
    HttpApiEndpoint.patch("update", "/v1/knowledge-bases/:knowledgeBaseId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Change a knowledge base",
          description:
            "Fields that are absent stay as they are. `content`, `source_url` or `entries` takes the place of what the base was made from. A new `source_url` is read; until then the base keeps its passages."
        })
      )
      .setPath(knowledgeBaseId)
      .setPayload(KnowledgeBaseUpdate)
      .addSuccess(One)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
      .addError(KnowledgeBaseNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", "/v1/knowledge-bases/:knowledgeBaseId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a knowledge base",
          description: "Agents that use it go on without it."
        })
      )
      .setPath(knowledgeBaseId)
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(KnowledgeBaseNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("refresh", "/v1/knowledge-bases/:knowledgeBaseId/refresh")
      .annotateContext(
        OpenApi.annotations({
          summary: "Refresh a knowledge base",
          description:
            "Reads its `source_url` again. The event `knowledge_base.refreshed` or `knowledge_base.refresh_failed` follows. A base that is being refreshed goes on with that."
        })
      )
      .setPath(knowledgeBaseId)
      .addSuccess(Schema.Struct({ status: Schema.Literal("refreshing") }), { status: 202 })
      .addError(KnowledgeBaseNotFound.wire)
      .addError(KnowledgeBaseNotRefreshable.wire)
  )

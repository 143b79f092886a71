import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { KnowledgeBaseFields } from "./KnowledgeBaseFields.ts"

/** Knowledge that agents of a project may use. */
export const KnowledgeBase = variant(KnowledgeBaseFields, "wire").annotations({ identifier: "KnowledgeBase" })
export type KnowledgeBase = typeof KnowledgeBase.Type

/** A body has one source only, so an example of every field would not be accepted. */
const example = {
  name: "Opening hours",
  description: null,
  auto_refresh_hours: null,
  content: "# Opening hours\n\nWe are open from Monday to Friday, 9 to 17 hours."
}

/** Body of `POST /v1/knowledge-bases`. */
export const KnowledgeBaseCreate = variant(KnowledgeBaseFields, "create").annotations({
  identifier: "KnowledgeBaseCreate",
  examples: [example]
})
export type KnowledgeBaseCreate = typeof KnowledgeBaseCreate.Type

/** Body of `PATCH /v1/knowledge-bases/<id>`: what is absent stays. */
export const KnowledgeBaseUpdate = variant(KnowledgeBaseFields, "update").annotations({
  identifier: "KnowledgeBaseUpdate",
  examples: [example]
})
export type KnowledgeBaseUpdate = typeof KnowledgeBaseUpdate.Type

export class KnowledgeBaseNotFound extends define(
  "KnowledgeBaseNotFound",
  "KNOWLEDGE_BASE_NOT_FOUND",
  404,
  "knowledge base not found"
) {}
export class KnowledgeBaseNotRefreshable extends define(
  "KnowledgeBaseNotRefreshable",
  "KNOWLEDGE_BASE_NOT_REFRESHABLE",
  422,
  "the knowledge base has no source_url to refresh from"
) {}

import { Schema } from "effect"
import { KnowledgeBaseId } from "../Ids.ts"

const base = { kb_id: KnowledgeBaseId }

/** `data` of knowledge base events, which belong to a project and no agent. */
export const knowledgeBaseEventData = {
  "knowledge_base.refreshed": Schema.Struct({
    ...base,
    entries_added: Schema.NonNegativeInt,
    entries_removed: Schema.NonNegativeInt,
    /** Entries beyond the most that a base may have, which were cut off. */
    entries_truncated: Schema.NonNegativeInt
  }),
  "knowledge_base.refresh_failed": Schema.Struct({ ...base, error: Schema.String }),
  "knowledge_base.auto_refresh_disabled": Schema.Struct({
    ...base,
    reason: Schema.Literal("consecutive_failures"),
    /** How many failures in a row. */
    count: Schema.NonNegativeInt
  })
} as const

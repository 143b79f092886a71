import type { AgentId } from "@svc/api/Ids"

/** A number of ours that can be used to reach somebody. */
export interface OwnNumber {
  /** E.164. */
  readonly number: string
  /** The telephony plugin that carries it. */
  readonly telephony: string
  readonly agent: { readonly id: number; readonly public_id: AgentId } | null
}

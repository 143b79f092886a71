import type { AgentId } from "@svc/api/Ids"

/** An active number of the project, from which calls and messages can be sent. */
export interface OwnNumber {
  /** E.164. */
  readonly number: string
  /** The telephony plugin that carries it. */
  readonly telephony: string
  readonly agent: { readonly id: number; readonly public_id: AgentId } | null
}

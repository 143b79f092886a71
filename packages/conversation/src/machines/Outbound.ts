import type { Outcome } from "../Command.ts"
import type { InputOf } from "../Input.ts"
import type { Conversation } from "../State.ts"

/**
 * An outbound call rings until it is answered, declined or timed out. After the answer its configuration is requested,
 * and the conversation is that of an inbound call.
 *
 * | phase | on | then |
 * |---|---|---|
 * | answering | answered | connected: `call.started`, and the configuration is requested |
 * | answering | busy, no answer, declined, could not be placed | over |
 * | answering | `ring_timeout_seconds` | over: no-answer |
 * | connected | the configuration, or a menu | live, or menu |
 * | connected | no usable configuration | over: failed |
 */

/** The outcome of a call that was not answered. A declined call is `failed`; the reason is in the timeline. */
export const outcomeOf = (failed: InputOf<"DialFailed">["outcome"]): Outcome => {
  switch (failed) {
    case "busy":
      return { status: "busy", disposition: "busy", ended_reason: null }
    case "no-answer":
      return { status: "no-answer", disposition: "no-answer", ended_reason: null }
    case "rejected":
    case "failed":
      return { status: "failed", disposition: "failed", ended_reason: "error" }
  }
}

/** The metadata of a call: of its link, or from the request that placed it, overridden by the agent's server. */
export const metadataOf = ({ config, facts }: Conversation): { readonly [key: string]: unknown } => ({
  ...facts.metadata,
  ...facts.outbound?.metadata,
  ...config?.metadata
})

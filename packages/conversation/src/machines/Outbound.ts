import type { Outcome } from "../Command.ts"
import type { InputOf } from "../Input.ts"
import type { Conversation } from "../State.ts"

/**
 * A call that we place: it rings until it is answered, refused, or its time is over; then the agent's
 * server is asked, and the conversation is as any other.
 *
 * | phase | on | then |
 * |---|---|---|
 * | answering | answered | connected: `call.started`, and the configuration is asked for |
 * | answering | busy, no answer, declined, could not be placed | over |
 * | answering | `ring_timeout_seconds` | over: no-answer |
 * | connected | the configuration, or a menu | live, or menu |
 * | connected | no usable configuration | over: failed |
 */

/** A call that was not answered. A declined one is `failed`; its reason is in the timeline. */
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

/** What is stored with the call: what the one who placed it gave, under what the agent's server gave. */
export const metadataOf = ({ config, facts }: Conversation): { readonly [key: string]: unknown } => ({
  ...facts.outbound?.metadata,
  ...config?.metadata
})

import { ChatConcurrentLimitExceeded, ChatRateLimitExceeded } from "@svc/api/chat/ChatError"
import type { Principal } from "@svc/api/Principal"
import { RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { Clock, Context, Effect, Layer } from "effect"

/** Seconds after which a client may try again when too many completions run: one may have ended by then. */
const retryAfter = 1

/**
 * The limits of an organization's chat completions: per minute over all servers, and at once on this one. A completion
 * that is refused takes nothing from either. See docs/reference/chat.md.
 */
export class ChatLimits extends Context.Tag("@svc/chat/ChatLimits")<
  ChatLimits,
  {
    /** Runs a completion, which counts as running until it ends, fails or is interrupted. */
    readonly within: (
      org: Principal["org"]
    ) => <A, E, R>(
      completion: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ChatRateLimitExceeded | ChatConcurrentLimitExceeded, R>
    /** Completions of an organization that run on this server. */
    readonly running: (orgId: number) => number
  }
>() {
  static readonly layer: Layer.Layer<ChatLimits, never, RateLimits | TierLimits> = Layer.effect(
    ChatLimits,
    Effect.gen(function* () {
      const rates = yield* RateLimits
      const tiers = yield* TierLimits
      const running = new Map<number, number>()

      const take = ({ id, tier }: Principal["org"]) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (now): Effect.Effect<void, ChatRateLimitExceeded | ChatConcurrentLimitExceeded> => {
            const { chatConcurrent, chatPerMinute } = tiers.of(tier)
            const count = running.get(id) ?? 0
            if (count >= chatConcurrent) {
              const message = `Too many chat completions at once: the tier ${tier} has ${chatConcurrent}`
              return new ChatConcurrentLimitExceeded({ message, retryAfter })
            }
            const { admitted, resetIn } = rates.consume(`chat:${id}`, chatPerMinute, now)
            if (!admitted) {
              const message = `Too many chat completions in this minute: the tier ${tier} has ${chatPerMinute}`
              return new ChatRateLimitExceeded({ message, retryAfter: resetIn })
            }
            running.set(id, count + 1)
            return Effect.void
          }
        )
      const free = ({ id }: Principal["org"]) =>
        Effect.sync(() => {
          const left = (running.get(id) ?? 0) - 1
          if (left > 0) running.set(id, left)
          else running.delete(id)
        })

      return {
        within: (org) => (completion) =>
          Effect.acquireUseRelease(
            take(org),
            () => completion,
            () => free(org)
          ),
        running: (orgId) => running.get(orgId) ?? 0
      }
    })
  )
}

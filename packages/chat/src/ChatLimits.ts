import { ChatConcurrentLimitExceeded, ChatRateLimitExceeded } from "@svc/api/chat/ChatError"
import type { Principal } from "@svc/api/Principal"
import { RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { Context, Effect, Layer } from "effect"
import { ChatSlots, type SlotUse } from "./ChatSlots.ts"

/** Seconds after which a client may try again when too many completions run: one may have ended by then. */
const retryAfter = 1

type Org = Principal["org"]
type Refusal = ChatRateLimitExceeded | ChatConcurrentLimitExceeded

/** A completion that counts as running. */
export interface Counted {
  /**
   * Ends the count. The result completes when other servers know it; undefined when nothing is to be waited for. A second
   * time it ends nothing.
   */
  readonly finish: () => Effect.Effect<void> | undefined
}

/**
 * The limits of an organization's chat completions: per minute and at once, both over all servers. A completion that is
 * refused takes nothing from either. A slot of each running completion is in the database. While that does not answer,
 * each server goes on with its own count: limits fail open. See docs/reference/chat.md.
 */
export class ChatLimits extends Context.Tag("@svc/chat/ChatLimits")<
  ChatLimits,
  {
    /**
     * Runs the completion of this id, which counts as running until it ends, fails or is interrupted, or uses `finish`:
     * before its last words, since a client that has these may send the next request at once.
     */
    readonly within: (
      org: Org,
      id: string
    ) => <A, E, R>(completion: (counted: Counted) => Effect.Effect<A, E, R>) => Effect.Effect<A, E | Refusal, R>
    /** Completions of an organization that run on this server. */
    readonly running: (orgId: number) => number
  }
>() {
  static readonly layer: Layer.Layer<ChatLimits, never, ChatSlots | RateLimits | TierLimits> = Layer.effect(
    ChatLimits,
    Effect.gen(function* () {
      const rates = yield* RateLimits
      const tiers = yield* TierLimits
      const slots = yield* ChatSlots
      const clock = yield* Effect.clock
      const running = new Map<number, number>()

      const tooMany = (tier: Org["tier"]) =>
        new ChatConcurrentLimitExceeded({
          message: `Too many chat completions at once: the tier ${tier} has ${tiers.of(tier).chatConcurrent}`,
          retryAfter
        })
      const tooOften = (tier: Org["tier"], resetIn: number) =>
        new ChatRateLimitExceeded({
          message: `Too many chat completions in this minute: the tier ${tier} has ${tiers.of(tier).chatPerMinute}`,
          retryAfter: resetIn
        })

      const takeOwn = ({ id, tier }: Org) =>
        Effect.suspend((): Effect.Effect<void, ChatConcurrentLimitExceeded> => {
          const count = running.get(id) ?? 0
          if (count >= tiers.of(tier).chatConcurrent) return tooMany(tier)
          running.set(id, count + 1)
          return Effect.void
        })
      const freeOwn = ({ id }: Org): void => {
        const left = (running.get(id) ?? 0) - 1
        if (left > 0) running.set(id, left)
        else running.delete(id)
      }

      const admit = (org: Org, take: SlotUse["take"]) =>
        Effect.suspend((): Effect.Effect<void, Refusal> => {
          const bucket = `chat:${org.id}`
          const { chatPerMinute } = tiers.of(org.tier)
          const allowance = rates.peek(bucket, chatPerMinute, clock.unsafeCurrentTimeMillis())
          if (!allowance.admitted) return tooOften(org.tier, allowance.resetIn)
          return Effect.flatMap(take, (isTaken): Effect.Effect<void, Refusal> => {
            if (!isTaken) return tooMany(org.tier)
            const { admitted, resetIn } = rates.consume(bucket, chatPerMinute, clock.unsafeCurrentTimeMillis())
            return admitted ? Effect.void : tooOften(org.tier, resetIn)
          })
        })

      const within =
        (org: Org, id: string) =>
        <A, E, R>(completion: (counted: Counted) => Effect.Effect<A, E, R>) => {
          const slot = slots.of(org.id, tiers.of(org.tier).chatConcurrent, id)
          let isOver = false
          let known: Effect.Effect<void> | undefined
          const finish = () => {
            if (isOver) return known
            isOver = true
            freeOwn(org)
            known = slot.giveBack(clock.unsafeCurrentTimeMillis())
            return known
          }
          return Effect.acquireUseRelease(
            takeOwn(org),
            () => Effect.flatMap(admit(org, slot.take), () => completion({ finish })),
            () => Effect.sync(finish)
          )
        }

      return { within, running: (orgId) => running.get(orgId) ?? 0 }
    })
  )
}

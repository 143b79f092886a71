import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Clock, Context, Effect, Fiber, FiberSet, Layer, Schedule } from "effect"
import { type ChatSlot, ChatSlotsRepo } from "./ChatSlotsRepo.ts"
import { KeptSlots } from "./KeptSlots.ts"

/** How long a completion waits for the database. */
const patience = "1 second"
/** How often kept slots are looked through. */
const keptInterval = "1 second"

/** The slot of one completion. */
export interface SlotUse {
  /** Takes it; false when all are taken. True as well while the database does not answer: limits fail open. */
  readonly take: Effect.Effect<boolean>
  /**
   * Begins to give it back, also one that is only taken afterwards because the database was late. The result completes
   * when other servers know it, or after a second; it is undefined when they need not know it. `now` in ms. Call it once.
   */
  readonly giveBack: (now: number) => Effect.Effect<void> | undefined
}

/**
 * The slots of the completions that run on this server. A slot is a row in the database, so that the limit is exact over
 * all servers. A server that is alone keeps slots that become free, up to half of the limit, and so seldom waits for
 * the database. It gives them back when it sees another server. When it is killed they are taken until it is settled;
 * the other half is free.
 */
export class ChatSlots extends Context.Tag("@svc/chat/ChatSlots")<
  ChatSlots,
  {
    /** The slot of the completion of this id, out of `limit`. */
    readonly of: (orgId: number, limit: number, id: string) => SlotUse
  }
>() {
  static readonly layer: Layer.Layer<ChatSlots, never, ChatSlotsRepo | NodeLease> = Layer.scoped(
    ChatSlots,
    Effect.gen(function* () {
      const repo = yield* ChatSlotsRepo
      const lease = yield* NodeLease
      const background = yield* FiberSet.runtime(yield* FiberSet.make<unknown, unknown>())<never>()
      const kept = new KeptSlots()
      let isShared = true
      let isAlone = (yield* lease.others) === 0
      yield* lease.onDeath("chat.slots", repo.releaseAllOf)

      const release = (slots: ReadonlyArray<ChatSlot>) => Effect.retry(repo.release(slots), Schedule.spaced("1 second"))
      yield* startPeriodicTask({
        every: keptInterval,
        run: Effect.gen(function* () {
          const { id } = yield* lease.current
          isAlone = (yield* lease.others) === 0
          const now = yield* Clock.currentTimeMillis
          const removed = isAlone ? kept.removeUnused(id, now) : kept.removeAll()
          if (removed.length > 0) background(release(removed))
        }),
        failureMessage: "Unused slots of chat completions cannot be released"
      })
      // A server that starts next need not wait until this one is settled.
      yield* Effect.addFinalizer(() =>
        Effect.flatMap(lease.current, ({ id }) => repo.releaseAllOf([id])).pipe(
          Effect.interruptible,
          Effect.timeoutOption(patience),
          Effect.catchAllCause((cause) => Effect.logDebug("Slots of chat completions were not released", cause))
        )
      )

      /** A failure does not refuse the completion. */
      const withoutDatabase = (error: Error) =>
        Effect.suspend(() => {
          const wasShared = isShared
          isShared = false
          return Effect.as(
            wasShared
              ? Effect.logWarning(
                  `Chat completions are not counted over all servers: the database does not answer (${error.message})`
                )
              : Effect.void,
            true
          )
        })

      const slotUse = (orgId: number, limit: number, completionId: string): SlotUse => {
        let held: ChatSlot | undefined
        let asked: { readonly slot: ChatSlot; readonly answer: Fiber.RuntimeFiber<boolean, Error> } | undefined
        const ask = (slot: ChatSlot) => {
          const answer = background(repo.take(slot, limit))
          asked = { slot, answer }
          return Fiber.join(answer).pipe(
            Effect.timeout(patience),
            Effect.tap((isTaken) =>
              Effect.sync(() => {
                isShared = true
                asked = undefined
                if (isTaken) held = slot
              })
            ),
            Effect.catchAll(withoutDatabase)
          )
        }
        const take = Effect.flatMap(lease.current, ({ id: node_id }) => {
          held = kept.take(orgId, node_id)
          return held === undefined
            ? ask({ org_id: orgId, completion_id: completionId, node_id })
            : Effect.succeed(true)
        })
        const begin = (releasing: Effect.Effect<unknown, unknown>): Effect.Effect<void> => {
          const fiber = background(releasing)
          return Effect.asVoid(Effect.timeoutOption(Fiber.await(fiber), patience))
        }
        const giveBack = (now: number): Effect.Effect<void> | undefined => {
          if (asked !== undefined) {
            const { answer, slot } = asked
            return begin(Effect.zipRight(Fiber.await(answer), release([slot])))
          }
          if (held === undefined || (isAlone && kept.keep(held, Math.floor(limit / 2), now))) return undefined
          return begin(release([held]))
        }
        return { take, giveBack }
      }

      return { of: slotUse }
    })
  )
}

import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Duration, Effect, FiberSet, Layer } from "effect"
import { NumberOrdersRepo } from "./NumberOrdersRepo.ts"
import { OrderFulfilment } from "./OrderFulfilment.ts"

/** Orders that this node repeats at once. */
const maxAtOnce = 10

/**
 * Repeats orders whose outcome is not known, because the carrier did not answer or the process died, until the carrier
 * has answered. Every node runs it; a claim ends with its node.
 */
export const OrderWorker: Layer.Layer<never, never, DueCheck | NodeLease | NumberOrdersRepo | OrderFulfilment> =
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const lease = yield* NodeLease
      const fulfilment = yield* OrderFulfilment
      const repo = yield* NumberOrdersRepo
      const running = yield* FiberSet.make<void>()

      yield* lease.onDeath("numbers.orders", repo.releaseClaims)
      yield* startPeriodicTask({
        every: Duration.infinity,
        early: yield* (yield* DueCheck).register("numbers.orders", () => repo.hasDue),
        run: Effect.gen(function* () {
          const limit = maxAtOnce - (yield* FiberSet.size(running))
          if (limit <= 0) return
          const { id: node } = yield* lease.current
          const claimed = yield* repo.claimDue(node, limit)
          yield* Effect.forEach(claimed, (order) => FiberSet.run(running, Effect.asVoid(fulfilment.carryOut(order))), {
            discard: true
          })
        }),
        failureMessage: "Orders of numbers that are due could not be read; trying again"
      })
    })
  )

import { Statement } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Clock, Effect, Layer, Option, TestClock } from "effect"
import { DeliveriesRepo } from "../src/DeliveriesRepo.ts"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { DeliveryFanOut } from "../src/delivery/DeliveryFanOut.ts"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { ReceiverClient } from "../src/delivery/ReceiverClient.ts"
import { RetrySchedule } from "../src/delivery/RetrySchedule.ts"

it.scoped("DeliveryWorker of a node that is alone and idle claims at once what a resend queued", () =>
  Effect.gen(function* () {
    const claims: Array<number> = []
    const listeners: Array<() => void> = []
    const worker = DeliveryWorker.pipe(
      Layer.provide(
        Layer.mergeAll(
          Layer.mock(NodeLease, {
            current: Effect.succeed({ id: "node_a", lost: Effect.never }),
            others: Effect.succeed(0),
            onDeath: () => Effect.void
          }),
          Layer.mock(DueCheck, { register: () => Effect.succeed(Effect.never) }),
          Layer.mock(QueueRepo, {
            untilDueIf: () => Statement.unsafeFragment("null"),
            untilDue: () => Effect.succeed(Number.POSITIVE_INFINITY),
            claim: () =>
              Effect.map(Clock.currentTimeMillis, (now) => {
                claims.push(now)
                return []
              })
          }),
          Layer.mock(DeliveriesRepo, { onQueued: (listener) => Effect.sync(() => void listeners.push(listener)) }),
          Layer.mock(DeliveryFanOut, { onDeliveries: () => Effect.void }),
          Layer.succeed(ReceiverClient, { post: () => () => undefined }),
          Layer.succeed(RetrySchedule, { firstMs: 0, afterMs: () => Effect.succeed(Option.none()) })
        )
      )
    )
    yield* Layer.build(worker)
    yield* TestClock.adjust("700 millis")
    expect(claims).toEqual([])
    for (const listener of listeners) listener()
    yield* TestClock.adjust(0)
    expect(claims).toEqual([700])
  })
)

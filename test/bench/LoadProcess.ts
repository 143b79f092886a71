import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import * as CustomerServer from "./CustomerServer.ts"
import { attend } from "./Duties.ts"
import { EffortMeter } from "./Effort.ts"
import { Exchange } from "./Exchange.ts"
import type { LoadAsks } from "./Messages.ts"

/** The world around the server: its callers, and the customer who answers its callbacks. */
const program = Effect.gen(function* () {
  const url = yield* CustomerServer.start
  const effort = new EffortMeter()
  const exchange = yield* Effect.acquireRelease(
    Effect.sync(() => new Exchange()),
    (exchange) => Effect.sync(() => exchange.close())
  )
  yield* attend<LoadAsks>({
    customer: () => Effect.succeed({ url }),
    dial: (dialling) => Effect.as(exchange.dial(dialling), undefined),
    measure: () =>
      Effect.sync(() => {
        exchange.measure()
        effort.begin()
        return undefined
      }),
    figures: () => Effect.sync(() => ({ ...effort.read(), ...exchange.figures })),
    hangUp: () => Effect.sync(() => exchange.hangUp())
  })
})

NodeRuntime.runMain(Effect.scoped(program))

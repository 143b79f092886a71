import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { Callers } from "./Callers.ts"
import * as CustomerServer from "./CustomerServer.ts"
import { ProcessMeter } from "./ProcessMeter.ts"
import type { LoadRequests } from "./ProcessRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** The load: callers, and the agent's server. */
const program = Effect.gen(function* () {
  const url = yield* CustomerServer.start
  const meter = new ProcessMeter()
  const callers = yield* Effect.acquireRelease(
    Effect.sync(() => new Callers()),
    (callers) => Effect.sync(() => callers.close())
  )
  yield* serveRequests<LoadRequests>({
    customer: () => Effect.succeed({ url }),
    dial: (dialling) => Effect.as(callers.dial(dialling), undefined),
    measure: () =>
      Effect.sync(() => {
        callers.measure()
        meter.begin()
        return undefined
      }),
    figures: () => Effect.sync(() => ({ ...meter.read(), ...callers.figures })),
    hangUp: () => Effect.sync(() => callers.hangUp())
  })
})

NodeRuntime.runMain(Effect.scoped(program))

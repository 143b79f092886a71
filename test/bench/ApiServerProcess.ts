import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { HttpServer } from "@svc/server/http/HttpServer"
import * as Logging from "@svc/server/Logging"
import { Server } from "@svc/server/Server"
import * as Settings from "@svc/server/Settings"
import { Effect } from "effect"
import type { ApiServerAsks } from "./ApiMessages.ts"
import { attend } from "./Duties.ts"
import { EffortMeter } from "./Effort.ts"

/** The server of which the API is measured: the real one, whole. Its settings are in its environment. */
const program = Effect.gen(function* () {
  const { port } = yield* HttpServer
  const effort = new EffortMeter()
  yield* attend<ApiServerAsks>({
    address: () => Effect.succeed({ url: `http://127.0.0.1:${port}` }),
    measure: () =>
      Effect.as(
        Effect.sync(() => effort.begin()),
        undefined
      ),
    figures: () => Effect.sync(() => effort.read())
  })
})

program.pipe(
  Effect.provide(Server),
  Effect.provide(Logging.layer),
  Effect.withConfigProvider(Settings.provider(true)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain
)

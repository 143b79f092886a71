import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { HttpServer } from "@svc/server/http/listening/HttpServer"
import * as Logging from "@svc/server/Logging"
import { Server } from "@svc/server/Server"
import * as Settings from "@svc/server/Settings"
import { Effect } from "effect"
import type { ApiServerRequests } from "./ApiRequests.ts"
import { ProcessMeter } from "./ProcessMeter.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** The complete server, for the measurement of its API. Its settings are in its environment. */
const program = Effect.gen(function* () {
  const { port } = yield* HttpServer
  const meter = new ProcessMeter()
  yield* serveRequests<ApiServerRequests>({
    address: () => Effect.succeed({ url: `http://127.0.0.1:${port}` }),
    measure: () =>
      Effect.as(
        Effect.sync(() => meter.begin()),
        undefined
      ),
    figures: () => Effect.sync(() => meter.read())
  })
})

// As in ServerProcess.ts.
process.setSourceMapsEnabled(false)

program.pipe(
  Effect.provide(Server),
  Effect.provide(Logging.layer),
  Effect.withConfigProvider(Settings.provider(true)),
  Effect.withTracerEnabled(false),
  NodeRuntime.runMain
)

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { VoiceApi } from "@svc/api/VoiceApi"
import { LiveCalls } from "@svc/call-engine/live/LiveCalls"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { yieldToMainThread } from "@svc/server/HelperThreads"
import { prepareDocuments } from "@svc/server/http/documents/DocumentRoutes"
import { HttpServer } from "@svc/server/http/listening/HttpServer"
import * as Logging from "@svc/server/Logging"
import { Server } from "@svc/server/Server"
import * as Settings from "@svc/server/Settings"
import * as ConfiguredTelemetry from "@svc/server/telemetry/ConfiguredTelemetry"
import { ConfigProvider, Effect } from "effect"
import { ProcessMeter } from "./ProcessMeter.ts"
import type { ServerRequests } from "./ProcessRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"
import { StallMeter } from "./StallMeter.ts"

/** The server under load, with meters that the parent reads. Its settings are in its environment. */

const collect = (): void => {
  globalThis.gc?.()
  globalThis.gc?.()
}

/** `folder` is where its data is. */
const program = (folder: string) =>
  Effect.gen(function* () {
    const calls = yield* LiveCalls
    const { wheel } = yield* Ticker
    const { port } = yield* HttpServer
    const meter = new ProcessMeter()
    let stalls: StallMeter | undefined
    let skippedBefore = 0
    yield* yieldToMainThread

    yield* serveRequests<ServerRequests>({
      address: () => Effect.succeed({ url: `http://127.0.0.1:${port}`, folder }),
      measure: () =>
        Effect.sync(() => {
          wheel.lateness.reset()
          skippedBefore = wheel.skipped
          meter.begin()
          return undefined
        }),
      figures: () =>
        Effect.map(calls.count, (live) => ({
          ...meter.read(),
          ticker: { p50: wheel.lateness.quantile(0.5), p99: wheel.lateness.quantile(0.99) },
          skipped: wheel.skipped - skippedBefore,
          live
        })),
      memory: () =>
        Effect.sync(() => {
          collect()
          const { external, heapUsed, rss } = process.memoryUsage()
          return { rss, held: heapUsed + external }
        }),
      live: () => calls.count,
      // From the first request on: the meter costs about a tenth of a core, which other figures must not have.
      stall: () =>
        Effect.sync(() => {
          stalls ??= new StallMeter()
          return stalls.take()
        })
    })
  })

/** A data folder that is removed when the server has stopped, also when the parent was killed. */
const inFolder = Effect.acquireUseRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-bench-"))),
  (folder) => {
    const place = ConfigProvider.fromMap(new Map([["SVC_DATA_DIR", folder]]))
    return Effect.zipRight(prepareDocuments(VoiceApi), Effect.provide(program(folder), Server)).pipe(
      Effect.provide(ConfiguredTelemetry.layer),
      Effect.provide(Logging.layer),
      Effect.withConfigProvider(ConfigProvider.orElse(place, () => Settings.provider(true)))
    )
  },
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

// tsx, which loads this file, has it read the source map of each file that an error's stack names. A server that was built
// runs without.
process.setSourceMapsEnabled(false)

inFolder.pipe(Effect.withTracerEnabled(false), NodeRuntime.runMain)

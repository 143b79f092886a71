import { VoiceApi } from "@svc/api/VoiceApi"
import { LiveCalls } from "@svc/call-engine/live/LiveCalls"
import { Providers } from "@svc/providers/Providers"
import { Console, Context, Effect, Fiber, Layer } from "effect"
import { exposedSimulator } from "../Exposure.ts"
import { FirstStart } from "../FirstStart.ts"
import { yieldToMainThread } from "../HelperThreads.ts"
import { prepareDocuments } from "../http/documents/DocumentRoutes.ts"
import { HttpServer } from "../http/listening/HttpServer.ts"
import { httpSettings } from "../http/listening/HttpSettings.ts"
import { processFaults, type ServerFault } from "../ProcessFaults.ts"
import { Server } from "../Server.ts"
import { watchStalls } from "../stalls/StallWatch.ts"
import * as ConfiguredTelemetry from "../telemetry/ConfiguredTelemetry.ts"

/** What to try next; on the first start only, later starts keep to one line. */
const firstSteps = (url: string, dev: boolean): string =>
  [
    "Try it, with the project key in SVC_KEY:",
    "",
    `  curl -H "Authorization: Bearer $SVC_KEY" ${url}/v1/health`,
    `  curl -H "Authorization: Bearer $SVC_KEY" -H "Content-Type: application/json" \\`,
    `       -d '{"name":"Reception","server_url":"${dev ? "http://localhost:3000/" : "https://example.com/"}"}' ${url}/v1/agents`,
    `  curl -H "Authorization: Bearer $SVC_KEY" ${url}/v1/calls`,
    ...(dev ? ["", "The simulated phone network is loaded: with `npm run simulate` you can place a call."] : []),
    ""
  ].join("\n")

const announce = (context: Context.Context<HttpServer | FirstStart>, dev: boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { host, port, url } = Context.get(context, HttpServer)
    const listens = url.endsWith(`:${port}`) ? url : `${url} (on ${host} port ${port})`
    yield* Console.log(`Svc listens at ${listens}`)
    if (Context.get(context, FirstStart).created) yield* Console.log(firstSteps(url, dev))
  })

/** Reports a slow start. */
const slowStart = Effect.sleep("2 seconds").pipe(Effect.zipRight(Console.log("Starting the database and the plugins…")))

/**
 * `svc serve`: runs the server until a signal stops it, then shuts it down. An error that leaves its state unknown stops
 * it in the same way, and fails.
 */
export const serve = (options: { readonly dev: boolean }) =>
  processFaults.pipe(
    // Listens before plugins are imported, and until everything has ended.
    Effect.flatMap(({ fatal }) => run(options, fatal)),
    // Its log is exported until everything has ended.
    Effect.provide(ConfiguredTelemetry.layer),
    Effect.scoped,
    Effect.withTracerEnabled(false)
  )

/** `fault` fails when the server has to stop; until the server has started, nothing waits for it. */
const run = (options: { readonly dev: boolean }, fault: Effect.Effect<never, ServerFault>) =>
  Effect.gen(function* () {
    const waiting = yield* Effect.fork(slowStart)
    yield* prepareDocuments(VoiceApi)
    const context = yield* Layer.build(Server)
    yield* Fiber.interrupt(waiting)
    yield* yieldToMainThread
    // After it: the watching thread is needed most when the main thread does not yield.
    yield* watchStalls()
    // Calls are ended at the same time as requests, not after them.
    yield* Effect.addFinalizer(() =>
      Effect.logInfo("Stopping: waiting for requests and calls in progress to end").pipe(
        Effect.zipRight(Effect.forkDaemon(Context.get(context, LiveCalls).drain))
      )
    )
    const exposed = exposedSimulator(Context.get(context, Providers).plugins, yield* httpSettings)
    if (exposed !== undefined) yield* Effect.logWarning(exposed)
    yield* announce(context, options.dev)
    return yield* fault
  }).pipe(Effect.scoped)

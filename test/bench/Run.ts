import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { TurnLatency } from "@svc/api/calls/Call"
import { freePort } from "@svc/providers/testing/FreePorts"
import { Console, Effect, Schedule, type Scope } from "effect"
import * as Account from "./Account.ts"
import * as Child from "./Child.ts"
import type { LoadFigures, LoadRequests, Memory, Network, ServerFigures, ServerRequests } from "./ProcessRequests.ts"

/** Options of one run. */
export interface RunOptions {
  readonly calls: number
  readonly network: Network
  /** Length of the measurement. */
  readonly seconds: number
  /** Phones send silence too. */
  readonly continuous: boolean
  readonly record: boolean
  /** Folder for a CPU profile of the server. */
  readonly profile: string | undefined
  /** Traces, metrics and logs are exported to a collector in the parent, metrics once a second. */
  readonly otlp: boolean
}

/** Figures of one run. */
export interface RunFigures {
  readonly calls: number
  readonly network: Network
  readonly server: ServerFigures
  readonly load: LoadFigures
  /** Memory of the server: idle after the warm-up, and with all calls in progress. */
  readonly idle: Memory
  readonly busy: Memory
  /** Every turn of every call, warm-up included. */
  readonly turns: ReadonlyArray<TurnLatency>
}

/** The first flag is the one that docs/operations.md recommends; the server sets the second itself (apps/server/src/main.ts). */
export const serverFlags: ReadonlyArray<string> = ["--max-semi-space-size=32", "--no-allocation-site-pretenuring"]
/** Calls dialled a second. */
const rate = 60
/** Calls with which the server is warmed up before its memory is read, and how long they talk. */
const warmUpCalls = 20
const warmUp = "5 seconds"
/** Delay between the last answer and the measurement. */
const delayBeforeMeasurement = "3 seconds"

/** Removes the data folder of a server that had to be killed. Must be acquired before the server. */
export const leftoverFolder: Effect.Effect<{ folder: string | undefined }, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync((): { folder: string | undefined } => ({ folder: undefined })),
  ({ folder }) => Effect.sync(() => folder !== undefined && rmSync(folder, { recursive: true, force: true }))
)

/** The settings of a server on loopback with the simulated network and its own database. */
export const serverSettings = (key: string) => ({
  SVC_HOST: "127.0.0.1",
  SVC_PORT: "0",
  SVC_BASE_URL: "",
  SVC_DATABASE_URL: "",
  SVC_PLUGINS: "@svc/plugin-simulated",
  SVC_ALLOW_PRIVATE_URLS: "true",
  SVC_BOOTSTRAP_PROJECT_KEY: key,
  SVC_LOG_LEVEL: "warn"
})

/** Without `OTEL_…` of the environment, which Child passes on. */
const noCollector = { OTEL_SDK_DISABLED: "true" }

/** A collector that accepts all and keeps nothing, and the settings with which a server exports to it. */
const collector = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const listening = createServer((request, response) => {
        request.resume().once("end", () => response.end())
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
    }),
    (listening) =>
      Effect.sync(() => {
        listening.close()
        listening.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    OTEL_SDK_DISABLED: "false",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_METRIC_EXPORT_INTERVAL: "1000"
  }
})

/** The settings of a server for SIP calls, which all come from one address. */
const sipSettings = (port: number) => ({
  SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-sip",
  SVC_SIP_BIND: `127.0.0.1:${port}`,
  SVC_SIP_RTP_PORTS: "20000-24999",
  SVC_SIP_CALLS_PER_SOURCE: "10000",
  SVC_SIP_REQUESTS_PER_SECOND: "100000"
})

/** Runs one server with N concurrent calls. */
export const run = ({
  calls,
  continuous,
  network,
  otlp,
  profile,
  record,
  seconds
}: RunOptions): Effect.Effect<RunFigures, Child.BenchFailed> =>
  Effect.gen(function* () {
    const left = yield* leftoverFolder
    const key = `svc_live_${randomBytes(24).toString("hex")}`
    yield* Console.error(`${calls} calls: starting a server …`)
    const load = yield* Child.start<LoadRequests>("LoadProcess.ts", { built: true })
    const sipPort = yield* freePort
    const server = yield* Child.start<ServerRequests>("ServerProcess.ts", {
      built: true,
      flags: [
        "--expose-gc",
        ...serverFlags,
        ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`])
      ],
      env: {
        ...serverSettings(key),
        ...(network === "browser" ? { SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-browser" } : {}),
        ...(network === "sip" ? sipSettings(sipPort) : {}),
        ...(otlp ? yield* collector : noCollector)
      }
    })
    const { folder, url } = yield* server.request("address")
    left.folder = folder
    const account = yield* Account.make(url, key)
    const telephony = network === "sip" ? "sip" : "simulated"
    const to = yield* account.open((yield* load.request("customer")).url, record, telephony)
    const path = network === "browser" ? `${yield* account.link}/call` : "/telephony/simulated"
    const dial = (count: number) =>
      load.request("dial", {
        network,
        url: network === "sip" ? `udp://127.0.0.1:${sipPort}` : `${url.replace(/^http/, "ws")}${path}`,
        to,
        calls: count,
        rampMs: (count / rate) * 1000,
        continuous
      })
    const allOver = server.request("live").pipe(
      Effect.repeat({ until: (live) => live === 0, schedule: Schedule.spaced("100 millis") }),
      Effect.timeoutFail({
        duration: "60 seconds",
        onTimeout: () => new Child.BenchFailed({ message: "calls were not settled within 60 s after their end" })
      })
    )

    yield* dial(warmUpCalls)
    yield* Effect.sleep(warmUp)
    yield* load.request("hangUp")
    yield* allOver
    const idle = yield* server.request("memory")

    yield* dial(calls)
    yield* Effect.sleep(delayBeforeMeasurement)
    yield* Console.error(`${calls} calls: measuring for ${seconds} s …`)
    yield* Effect.all([server.request("measure"), load.request("measure")], { concurrency: 2 })
    yield* Effect.sleep(seconds * 1000)
    const [serverFigures, loadFigures] = yield* Effect.all([server.request("figures"), load.request("figures")], {
      concurrency: 2
    })
    const busy = yield* server.request("memory")
    const known = yield* load.request("hangUp")
    yield* allOver
    const callIds = network === "sip" ? yield* account.newest(calls) : known
    return {
      calls,
      network,
      server: serverFigures,
      load: loadFigures,
      idle,
      busy,
      turns: yield* account.latencies(callIds)
    }
  }).pipe(Effect.scoped)

import { randomBytes } from "node:crypto"
import * as http from "node:http"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, type Scope } from "effect"
import { WebSocket } from "ws"
import * as Account from "./Account.ts"
import * as Child from "./Child.ts"
import { answers, type HostileAnswer, type HostileRequest, number, requests } from "./HostileInputs.ts"
import type { LoadRequests, ServerRequests } from "./ProcessRequests.ts"
import { leftoverFolder, serverSettings } from "./Run.ts"
import { table } from "./Table.ts"
import { type Line, quantile, verdictOf } from "./Verdict.ts"

/**
 * `npm run bench:hostile`: the longest stall of the server by each input of a hostile tenant, while calls of others
 * run; see StallMeter. The median of several sends is judged: what the calls themselves add, garbage collection
 * included, falls into a few of them and has its own row. The exit code is 0 unless the bench could not run: figures of
 * a busy machine are no failure.
 */

const usage = `npm run bench:hostile -- [options]
  --calls N  calls at once (100)
  --times N  how often each input is sent after the first time (9)
  --only T   only inputs with this text in their name`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        calls: { type: "string", default: "100" },
        times: { type: "string", default: "9" },
        only: { type: "string", default: "" }
      }
    })
    const count = (name: "calls" | "times") => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number above 0`)
      return value
    }
    return { calls: count("calls"), times: count("times"), only: values.only }
  },
  catch: (error) => new Child.BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const budget = { must: 10, goal: 5 }
const workspaceKey = `svc_wsp_live_${randomBytes(24).toString("hex")}`

/** An agent's server that gives the answers of the input. */
const hostileServer: Effect.Effect<
  {
    readonly url: string
    readonly give: (answer: HostileAnswer) => void
    /** Whether it was asked for the present answer, to `tool.call` if it has one. */
    readonly wasAsked: () => boolean
  },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  let current: HostileAnswer | undefined
  let asked = false
  const server = http.createServer((request, response) => {
    const event = request.headers["x-svc-event"]
    const body = event === "call.started" ? current?.started : event === "tool.call" ? current?.tool : undefined
    if (body !== undefined && event === (current?.tool === undefined ? "call.started" : "tool.call")) asked = true
    request.resume().on("end", () => response.end(body ?? "{}"))
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const give = (answer: HostileAnswer): void => {
    current = answer
    asked = false
  }
  return { url: `http://127.0.0.1:${port}/agent`, give, wasAsked: () => asked }
})

/** Sends a request to the API and reads its answer, whose status shows that the input came as far as it should. */
const send = (url: string, key: string, request: HostileRequest): Effect.Effect<void, Child.BenchFailed> =>
  Effect.flatMap(answerTo(url, key, request), ({ body, status }) =>
    status === request.status
      ? Effect.void
      : new Child.BenchFailed({
          message: `${request.what}: status ${status} instead of ${request.status}: ${body.slice(0, 300)}`
        })
  )

const answerTo = (url: string, key: string, { body, isWorkspace, method, path }: HostileRequest) =>
  Effect.promise(async (signal) => {
    const headers = {
      authorization: `Bearer ${isWorkspace === true ? workspaceKey : key}`,
      "content-type": "application/json",
      ...(isWorkspace === true && { "idempotency-key": randomBytes(8).toString("hex") })
    }
    const response = await fetch(`${url}${path}`, { method, headers, signal, ...(body === undefined ? {} : { body }) })
    return { status: response.status, body: await response.text() }
  })

const text = (signal: AbortSignal, url: string, key: string) =>
  fetch(url, { signal, headers: { authorization: `Bearer ${key}` } }).then((response) => response.text())

/** The address of the debug page of the newest call. */
const debugPage = (url: string, key: string): Effect.Effect<string> =>
  Effect.promise(async (signal) => {
    const [id = ""] = /call_[0-9a-z]{24}/.exec(await text(signal, `${url}/v1/calls?limit=1`, key)) ?? []
    const link = await text(signal, `${url}/v1/calls/${id}/debug-link`, key)
    return /\/debug\/calls\/[^"?]+/.exec(link)?.[0] ?? "/debug/calls/none"
  })

/** One call to the hostile agent, from dialling until it was settled. */
const call = (url: string, asksTool: boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => new WebSocket(`${url.replace(/^http/, "ws")}/telephony/simulated`)),
      (opened) => Effect.sync(() => opened.terminate())
    )
    socket.on("error", () => {})
    socket.on("open", () => socket.send(JSON.stringify({ event: "dial", to: number, from: "+15550001111" })))
    yield* Effect.sleep("700 millis")
    if (asksTool) {
      socket.send(JSON.stringify({ event: "say", text: "look up it" }))
      yield* Effect.sleep("2500 millis")
    }
    socket.send(JSON.stringify({ event: "hangup" }))
    yield* Effect.sleep("500 millis")
  }).pipe(Effect.scoped)

const program = Effect.gen(function* () {
  const { calls, only, times } = yield* options
  const left = yield* leftoverFolder
  const key = `svc_live_${randomBytes(24).toString("hex")}`
  const load = yield* Child.start<LoadRequests>("LoadProcess.ts", { built: true })
  const server = yield* Child.start<ServerRequests>("ServerProcess.ts", {
    built: true,
    flags: ["--expose-gc"],
    env: { ...serverSettings(key), SVC_BOOTSTRAP_WORKSPACE_KEY: workspaceKey, SVC_LOG_LEVEL: "error" }
  })
  const { folder, url } = yield* server.request("address")
  left.folder = folder
  const account = yield* Account.make(url, key)
  const hostile = yield* hostileServer
  const to = yield* account.open((yield* load.request("customer")).url, false)
  yield* account.open(hostile.url, false, number)

  const stall = <E>(work: Effect.Effect<void, E>) =>
    Effect.gen(function* () {
      yield* server.request("stall")
      yield* work
      // What the input leaves to do, such as writing the journal, counts too.
      yield* Effect.sleep("300 millis")
      return yield* server.request("stall")
    })
  const measure = <E>(what: string, work: Effect.Effect<void, E>, limits: Line["budget"] = budget) =>
    Effect.gen(function* () {
      if (!what.includes(only)) return []
      const first = yield* stall(work)
      const stalls = yield* Effect.replicateEffect(stall(work), times)
      const line: Line = {
        what,
        figure: quantile(stalls, 0.5),
        unit: "ms",
        others: [first, Math.max(...stalls)],
        ...(limits !== undefined && { budget: limits })
      }
      yield* Console.error(`${what}: ${line.figure.toFixed(1)} ms`)
      return [line]
    })

  yield* Console.error(`dialling ${calls} calls …`)
  const dialling = { url: `${url.replace(/^http/, "ws")}/telephony/simulated`, to, calls, continuous: false }
  yield* load.request("dial", { ...dialling, rampMs: (calls / 60) * 1000 })
  yield* Effect.sleep("3 seconds")
  yield* server.request("measure")
  const ofCalls = yield* measure("the calls alone", Effect.sleep("700 millis"), undefined)
  const ofRequests = yield* Effect.forEach(requests, (one) => measure(one.what, send(url, key, one)))
  const ofAnswers = yield* Effect.forEach(answers, (one) =>
    measure(
      one.what,
      Effect.gen(function* () {
        hostile.give(one)
        yield* call(url, one.tool !== undefined)
        if (!hostile.wasAsked())
          return yield* new Child.BenchFailed({ message: `${one.what}: the server was not asked` })
      })
    )
  )
  const large = answers.find(({ what }) => what.includes("128 tools in 128 KB"))
  if (large !== undefined) hostile.give(large)
  yield* call(url, false)
  const path = yield* debugPage(url, key)
  const ofPage = yield* measure(
    "debug page of a call",
    send(url, key, { what: "debug page", method: "GET", path, status: 200 })
  )
  const { up } = yield* load.request("figures")
  const { waitedMs, wallMs } = yield* server.request("figures")
  const lines: ReadonlyArray<Line> = [
    ...ofCalls,
    ...ofRequests.flat(),
    ...ofAnswers.flat(),
    ...ofPage,
    { what: "calls up to the end", figure: up, unit: "" },
    { what: "server waiting for a core used by other programs", figure: (waitedMs / wallMs) * 100, unit: "%" }
  ]
  const missed = lines.filter((line) => verdictOf(line) === "missed").length
  yield* Console.log(
    table(`Longest stall of the server with ${calls} calls`, lines, [`median of ${times}`, "first", "max"])
  )
  yield* Console.log(`\n${missed === 0 ? "All inputs keep the budget" : `${missed} inputs miss the budget`}`)
  yield* load.request("hangUp")
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

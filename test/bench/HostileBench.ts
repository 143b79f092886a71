import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"
import * as Account from "./Account.ts"
import * as Child from "./Child.ts"
import { answers } from "./HostileAnswers.ts"
import { call, hostileServer } from "./HostileCalls.ts"
import {
  eventForWebhooks,
  type HostileRequest,
  manyEventsWebhook,
  messages,
  newSession,
  requests
} from "./HostileRequests.ts"
import { number } from "./HostileValues.ts"
import type { LoadRequests, ServerRequests } from "./ProcessRequests.ts"
import { leftoverFolder, serverSettings } from "./Run.ts"
import { table } from "./Table.ts"
import { type Line, quantile, verdictOf } from "./Verdict.ts"

/**
 * `npm run bench:hostile`: the longest stall of the server by each input of a hostile tenant, while calls of others
 * run; see StallMeter. What is judged is the median of several sends less the median of the calls alone in as much
 * time. The exit code is 1 when an input is over the limit, or the bench could not run.
 */

const usage = `npm run bench:hostile -- [options]
  --calls N      calls at once (100)
  --times N      how often each input is sent after the first time (5)
  --only T       only inputs with this text in their name; may be given several times
  --profile DIR  writes a CPU profile of the server there`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: {
        calls: { type: "string", default: "100" },
        times: { type: "string", default: "5" },
        only: { type: "string", multiple: true, default: [""] },
        profile: { type: "string" }
      }
    })
    const count = (name: "calls" | "times") => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number above 0`)
      return value
    }
    return { calls: count("calls"), times: count("times"), only: values.only, profile: values.profile }
  },
  catch: (error) => new Child.BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const budget = { must: 10, goal: 5 }
const workspaceKey = `svc_wsp_live_${randomBytes(24).toString("hex")}`

/** Sends a request to the API and returns its answer, whose status shows that the input came as far as it should. */
const send = (
  url: string,
  key: string,
  { body, isWorkspace, method, path, status, what }: HostileRequest
): Effect.Effect<string, Child.BenchFailed> =>
  Effect.promise(async (signal) => {
    const headers = {
      authorization: `Bearer ${isWorkspace === true ? workspaceKey : key}`,
      "content-type": "application/json",
      ...(isWorkspace === true && { "idempotency-key": randomBytes(8).toString("hex") })
    }
    const response = await fetch(`${url}${path}`, { method, headers, signal, ...(body === undefined ? {} : { body }) })
    return { status: response.status, text: await response.text() }
  }).pipe(
    Effect.flatMap((answer) =>
      answer.status === status
        ? Effect.succeed(answer.text)
        : new Child.BenchFailed({
            message: `${what}: status ${answer.status} instead of ${status}: ${answer.text.slice(0, 300)}`
          })
    )
  )

const get = (path: string): HostileRequest => ({ what: path, method: "GET", path, status: 200 })

/** The webhooks of the tenant that get one event at once. */
const webhookCount = 100

/** Lengths of time for which the calls are measured alone, ms: of a request, and of calls with and without speech. */
const aloneMs = [400, 1_400, 3_200]

/** What the server did in some time. */
interface Stalled {
  readonly longest: number
  readonly ms: number
}

const program = Effect.gen(function* () {
  const { calls, only, profile, times } = yield* options
  const left = yield* leftoverFolder
  const key = `svc_live_${randomBytes(24).toString("hex")}`
  const load = yield* Child.start<LoadRequests>("LoadProcess.ts", { built: true })
  const server = yield* Child.start<ServerRequests>("ServerProcess.ts", {
    built: true,
    flags: [
      "--expose-gc",
      ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`, "--cpu-prof-interval=200"])
    ],
    env: { ...serverSettings(key), SVC_BOOTSTRAP_WORKSPACE_KEY: workspaceKey, SVC_LOG_LEVEL: "error" }
  })
  const { folder, url } = yield* server.request("address")
  left.folder = folder
  const account = yield* Account.make(url, key)
  const hostile = yield* hostileServer
  const to = yield* account.open((yield* load.request("customer")).url, false)
  yield* account.open(hostile.url, false, "simulated", number)
  const ask = (request: HostileRequest) => send(url, key, request)

  const stall = <E>(work: Effect.Effect<unknown, E>): Effect.Effect<Stalled, E | Child.BenchFailed> =>
    Effect.gen(function* () {
      yield* server.request("stall")
      const from = performance.now()
      yield* work
      // What the input leaves to do, such as writing the journal, counts too.
      yield* Effect.sleep("300 millis")
      return { longest: yield* server.request("stall"), ms: performance.now() - from }
    })
  const median = (stalls: ReadonlyArray<Stalled>, of: (one: Stalled) => number) => quantile(stalls.map(of), 0.5)
  const longest = ({ longest }: Stalled) => longest

  let alone: ReadonlyArray<Stalled> = []
  /** The longest stall of the calls alone in about as much time. */
  const aloneIn = (ms: number): number =>
    alone.toSorted((a, b) => Math.abs(a.ms - ms) - Math.abs(b.ms - ms))[0]?.longest ?? 0
  const measure = <E>(what: string, work: Effect.Effect<unknown, E>) =>
    Effect.gen(function* () {
      if (!only.some((part) => what.includes(part))) return []
      const first = yield* stall(work)
      const stalls = yield* Effect.replicateEffect(stall(work), times)
      const stalled = median(stalls, longest)
      const line: Line = {
        what,
        figure: Math.max(0, stalled - aloneIn(median(stalls, ({ ms }) => ms))),
        unit: "ms",
        others: [stalled, Math.max(...stalls.map(longest)), first.longest],
        budget
      }
      yield* Console.error(`${what}: ${line.figure.toFixed(1)} of ${stalled.toFixed(1)} ms`)
      return [line]
    })

  yield* Console.error(`dialling ${calls} calls …`)
  const dialling = { url: `${url.replace(/^http/, "ws")}/telephony/simulated`, to, calls, continuous: false }
  yield* load.request("dial", { ...dialling, rampMs: (calls / 60) * 1000 })
  yield* Effect.sleep("3 seconds")
  yield* server.request("measure")
  const ofCalls: Array<Line> = []
  for (const ms of aloneMs) {
    const stalls = yield* Effect.replicateEffect(stall(Effect.sleep(ms - 300)), times + 2)
    alone = [...alone, { longest: median(stalls, longest), ms }]
    const others = [median(stalls, longest), Math.max(...stalls.map(longest))]
    ofCalls.push({ what: `the calls alone for ${ms / 1000} s`, figure: 0, others, unit: "ms" })
  }

  const ofRequests = yield* Effect.forEach(requests, (one) => measure(one.what, ask(one)))
  const ofAnswers = yield* Effect.forEach(answers, (one) => measure(one.what, call(hostile, url, one)))
  const large = answers.find(({ what }) => what === "tool.call: 256 KB with 5,000 fields")
  if (large === undefined) return yield* new Child.BenchFailed({ message: "there is no large answer" })

  // A call with a large journal, whose page is shown.
  yield* call(hostile, url, large)
  const [callId = ""] = /call_[0-9a-z]{24}/.exec(yield* ask(get("/v1/calls?limit=1"))) ?? []
  const link = yield* ask(get(`/v1/calls/${callId}/debug-link`))
  const ofPage = yield* measure("debug page of a call", ask(get(/\/debug\/calls\/[^"?]+/.exec(link)?.[0] ?? "/")))
  const ofRecord = yield* measure("record of a call", ask(get(`/v1/calls/${callId}`)))

  // Its agent is the one with the hostile number.
  const [agent = ""] = /agent_[0-9a-z]{24}/.exec(yield* ask(get(`/v1/calls/${callId}`))) ?? []
  hostile.give(large)
  const session = Effect.map(ask(newSession(agent)), (body) => /ts_[0-9a-z]{24}/.exec(body)?.[0] ?? "")
  const end = (id: string) => ask({ ...get(`/v1/test-sessions/${id}`), method: "DELETE" })
  const ofSessions = [
    yield* measure("test session: created", Effect.flatMap(session, end)),
    ...(yield* Effect.forEach(messages, ({ content, what }) =>
      Effect.gen(function* () {
        const id = yield* session
        const body = JSON.stringify({ content })
        const path = `/v1/test-sessions/${id}/message`
        const lines = yield* measure(`test session: ${what}`, ask({ what, method: "POST", path, status: 200, body }))
        yield* end(id)
        return lines
      })
    ))
  ]

  yield* Effect.replicateEffect(ask(manyEventsWebhook(hostile.url)), webhookCount)
  const ofWebhooks = yield* measure(
    `webhooks: one event to ${webhookCount} with 100 events each`,
    ask(eventForWebhooks)
  )

  const { up } = yield* load.request("figures")
  const { waitedMs, wallMs } = yield* server.request("figures")
  const lines: ReadonlyArray<Line> = [
    ...ofCalls,
    ...[...ofRequests, ...ofAnswers, ofPage, ofRecord, ...ofSessions, ofWebhooks].flat(),
    { what: "calls up to the end", figure: up, unit: "" },
    { what: "server waiting for a core used by other programs", figure: (waitedMs / wallMs) * 100, unit: "%" }
  ]
  const missed = lines.filter((line) => verdictOf(line) === "missed").length
  const columns = ["less calls alone", `median of ${times}`, "max", "first"]
  yield* Console.log(table(`Longest stall of the server with ${calls} calls`, lines, columns))
  yield* Console.log(`\n${missed === 0 ? "All inputs keep the limit" : `${missed} inputs are over the limit`}`)
  yield* load.request("hangUp")
  if (missed > 0) process.exitCode = 1
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

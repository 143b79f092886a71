import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FetchHttpClient, HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { VoiceApi } from "@svc/api/VoiceApi"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import { Console, Effect } from "effect"
import { type CallsFigures, measure } from "./ApiCalls.ts"
import type { ApiLoadRequests, ApiServerRequests } from "./ApiRequests.ts"
import * as Child from "./Child.ts"

export interface ApiRunOptions {
  readonly rounds: number
  /** Length of one burst. */
  readonly seconds: number
  readonly connections: number
  /** Calls of the organization for the list and usage queries; 0 skips them. */
  readonly calls: number
  /** Folder for CPU profiles of both servers. */
  readonly profile: string | undefined
}

/** One burst at one server. */
export interface Round {
  readonly perSecond: number
  /** Milliseconds of CPU per request. */
  readonly cpu: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
}

/** The figures of both servers for each round, and those of our server with many calls. */
export interface ApiFigures {
  readonly svc: ReadonlyArray<Round>
  readonly fastify: ReadonlyArray<Round>
  readonly calls: ReadonlyArray<CallsFigures>
}

const agentCount = 20
/** Discarded bursts, for the warm-up of compilers and pools. */
const warmUps = 2

/** Creates agents with names and URLs of typical length. */
const populate = (url: string, key: string) =>
  Effect.gen(function* () {
    const client = yield* HttpApiClient.make(VoiceApi, {
      baseUrl: url,
      transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(key))
    })
    for (let n = 1; n <= agentCount; n++) {
      yield* client.agents.create({
        payload: {
          name: `Reception of branch ${n}, opening hours and appointments`,
          server_url: `http://127.0.0.1:9/tenants/3f9c2d7e-51b4-4a6e-9d0f-${String(n).padStart(12, "0")}/voice/callbacks`,
          language: "en-US",
          voice: "Sarah",
          max_duration: 1800,
          recording: n % 2 === 0,
          end_call_enabled: true
        }
      })
    }
  }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.mapError((error) => new Child.BenchFailed({ message: `cannot make the agents: ${String(error)}` }))
  )

/** Measures both servers alternately on one database. */
export const run = (options: ApiRunOptions): Effect.Effect<ApiFigures, Child.BenchFailed> =>
  Effect.gen(function* () {
    const key = `svc_live_${randomBytes(24).toString("hex")}`
    yield* Console.error("starting a database, two servers and the load …")
    const dir = join(tmpdir(), `svc-bench-api-${randomBytes(6).toString("hex")}`)
    const database = yield* Effect.mapError(
      EmbeddedPostgres.start({ dir, removeAtEnd: true }),
      ({ message }) => new Child.BenchFailed({ message })
    )
    const flags = options.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profile}`]
    const env = { SVC_DATABASE_URL: database.url }
    const load = yield* Child.start<ApiLoadRequests>("ApiLoadProcess.ts")
    const svc = yield* Child.start<ApiServerRequests>("ApiServerProcess.ts", {
      built: true,
      flags,
      env: {
        ...env,
        NODE_ENV: "production",
        SVC_HOST: "127.0.0.1",
        SVC_PORT: "0",
        SVC_BASE_URL: "",
        SVC_PLUGINS: "@svc/plugin-simulated",
        SVC_ALLOW_PRIVATE_URLS: "true",
        SVC_BOOTSTRAP_PROJECT_KEY: key,
        SVC_BOOTSTRAP_TIER: "scale",
        SVC_BOOTSTRAP_CREDITS: "100",
        SVC_LIMIT_REQUESTS_PER_MINUTE_SCALE: "999999999",
        SVC_LOG_LEVEL: "warn"
      }
    })
    const { url } = yield* svc.request("address")
    yield* populate(url, key)
    const fastify = yield* Child.start<ApiServerRequests>("FastifyProcess.ts", { built: true, flags, env })
    const burst = (server: Child.Child<ApiServerRequests>, origin: string) =>
      Effect.gen(function* () {
        yield* server.request("measure")
        const sent = yield* load.request("send", {
          url: `${origin}/v1/agents?limit=${agentCount}`,
          key,
          connections: options.connections,
          ms: options.seconds * 1000
        })
        const { cpuMs } = yield* server.request("figures")
        const { failures, ms, p50, p99, requests } = sent
        if (requests === 0) return yield* new Child.BenchFailed({ message: `${origin} answered nothing` })
        return { perSecond: requests / (ms / 1000), cpu: cpuMs / requests, p50, p99, failures }
      })
    const other = (yield* fastify.request("address")).url
    yield* checkSameAnswer(url, other, key)
    const figures = { svc: [] as Round[], fastify: [] as Round[] }
    for (let round = 1 - warmUps; round <= options.rounds; round++) {
      yield* Console.error(round < 1 ? "warming up …" : `round ${round} of ${options.rounds} …`)
      // The order changes from round to round.
      const first = round % 2 === 0
      const measuredFirst = first ? yield* burst(svc, url) : undefined
      const fastifyRound = yield* burst(fastify, other)
      const svcRound = measuredFirst ?? (yield* burst(svc, url))
      if (round < 1) continue
      figures.svc.push(svcRound)
      figures.fastify.push(fastifyRound)
    }
    if (options.calls === 0) return { ...figures, calls: [] }
    const { calls, seconds } = options
    return { ...figures, calls: yield* measure({ calls, database: database.url, load, url, key, seconds }) }
  }).pipe(Effect.scoped)

/** Both must give the same answer, otherwise the comparison is meaningless. */
const checkSameAnswer = (svcUrl: string, fastifyUrl: string, key: string): Effect.Effect<void, Child.BenchFailed> => {
  const get = (origin: string) =>
    Effect.tryPromise({
      try: () =>
        fetch(`${origin}/v1/agents?limit=${agentCount}`, { headers: { authorization: `Bearer ${key}` } }).then(
          (response) =>
            response.text().then((text) => ({
              body: JSON.stringify(JSON.parse(text)),
              bytes: text.length,
              limits: [...response.headers.keys()].filter((name) => name.startsWith("x-")).join()
            }))
        ),
      catch: (error) => new Child.BenchFailed({ message: `${origin} does not answer: ${error}` })
    })
  return Effect.flatMap(Effect.all([get(svcUrl), get(fastifyUrl)]), ([one, two]) =>
    one.body === two.body && one.limits === two.limits
      ? Console.error(`both answer with the same ${one.bytes} characters and the same headers`)
      : new Child.BenchFailed({
          message: `the servers answer differently:\n${one.limits} ${one.body.slice(0, 400)}\n${two.limits} ${two.body.slice(0, 400)}`
        })
  )
}

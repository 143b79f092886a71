import { HttpApiClient, HttpClient, HttpClientError, HttpClientRequest } from "@effect/platform"
import type { Agent } from "@svc/api/agents/Agent"
import type { BrowserCallLink, BrowserCallRequest } from "@svc/api/calls/BrowserCalls"
import type {
  TestSession,
  TestSessionCreate,
  TestSessionInput,
  TestSessionTurn
} from "@svc/api/test-sessions/TestSession"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Context, Data, Effect, Option, Predicate, Redacted } from "effect"

/** A request to the server failed. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  /** The error's code; null when the server gave none. */
  readonly code: string | null
  /** What is wrong and what to do. */
  readonly message: string
}> {}

/** Where the server is, and as whom it is asked. */
export interface Access {
  /** Without a path. */
  readonly url: string
  readonly key: Redacted.Redacted
  readonly project: Option.Option<string>
}

/** How long an answer may take: longer than the server waits for a turn. */
const patience = "90 seconds"

/** The part of the voice API that a conversation in text, and a link for calls, use. */
export class SessionClient extends Context.Tag("@svc/server/SessionClient")<
  SessionClient,
  {
    /** An agent by public or numeric id, or by name: the only one that has it, or has it as a part. */
    readonly agent: (idOrName: string) => Effect.Effect<Agent, RequestFailed>
    readonly create: (session: TestSessionCreate) => Effect.Effect<TestSession, RequestFailed>
    readonly message: (id: string, message: TestSessionInput) => Effect.Effect<TestSessionTurn, RequestFailed>
    readonly get: (id: string) => Effect.Effect<TestSession, RequestFailed>
    readonly end: (id: string) => Effect.Effect<void, RequestFailed>
    /** A link to a page that calls the agent (public id). */
    readonly callLink: (agentId: string, request: BrowserCallRequest) => Effect.Effect<BrowserCallLink, RequestFailed>
  }
>() {}

/** Further words on what to do. */
const advice: { readonly [code: string]: string } = {
  INVALID_API_KEY: "give a project key with SVC_KEY or --key",
  PROJECT_ID_REQUIRED: "name the project with --project, or use a project key",
  PROJECT_NOT_FOUND: "--project must be a project of the key's organization",
  TEST_SESSION_LIMIT_EXCEEDED: "or wait: a session ends 30 minutes after its last message"
}

/** The fields of an error's body; undefined when it is none of our API. */
const fieldsOf = (body: unknown): { readonly code: string; readonly message: string } | undefined =>
  Predicate.hasProperty(body, "code") && Predicate.hasProperty(body, "message")
    ? { code: String(body.code), message: String(body.message) }
    : undefined

/** `what` is that for which the server is asked. */
const failureOf = (url: string, what: string, error: unknown): Effect.Effect<never, RequestFailed> =>
  Effect.gen(function* () {
    const failed = (message: string, code: string | null = null) => new RequestFailed({ code, message })
    if (Predicate.isTagged(error, "TimeoutException")) {
      return yield* failed(`${url} has not answered within ${patience}`)
    }
    if (Predicate.isTagged(error, "RequestError")) {
      return yield* failed(
        `no server answers at ${url}: start one with svc serve, or give its address with --url or SVC_URL`
      )
    }
    const response = error instanceof HttpClientError.ResponseError ? error.response : undefined
    const body = response === undefined ? undefined : yield* Effect.orElseSucceed(response.json, () => undefined)
    const fields = fieldsOf(body)
    if (fields !== undefined) {
      const { code, message } = fields
      const more = code === "READ_ONLY_KEY" ? `${what} needs a key with the scope full` : advice[code]
      return yield* failed(`${message} (${code})${more === undefined ? "" : `: ${more}`}`, code)
    }
    const status = response === undefined ? "" : ` with ${response.status}`
    return yield* failed(`${url} answered${status} as no Svc server of this version does: check --url or SVC_URL`)
  })

const listed = (agents: ReadonlyArray<Agent>): string =>
  agents.map(({ name, public_id }) => `${name} (${public_id})`).join(", ")

/** A client of the server at this address, and what it is to make. */
export const make = ({ key, project, url }: Access, what = "a test session") =>
  Effect.gen(function* () {
    const client = yield* HttpApiClient.make(VoiceApi, {
      baseUrl: url,
      transformClient: (http) =>
        http.pipe(
          HttpClient.mapRequest((request) =>
            request.pipe(
              HttpClientRequest.bearerToken(Redacted.value(key)),
              HttpClientRequest.setHeaders(Option.isSome(project) ? { "X-Project-Id": project.value } : {})
            )
          ),
          // The contract does not declare all errors of every endpoint: their bodies are read here.
          HttpClient.filterStatusOk
        )
    })
    const ask = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, RequestFailed> =>
      Effect.catchAll(Effect.timeout(request, patience), (error) => failureOf(url, what, error))

    const named = (name: string) =>
      Effect.gen(function* () {
        const { agents } = yield* ask(client.agents.list({ urlParams: { limit: 100, name } }))
        const same = agents.filter((agent) => agent.name.toLowerCase() === name.toLowerCase())
        const found = same.length > 0 ? same : agents
        const [agent] = found
        if (agent !== undefined && found.length === 1) return agent
        if (found.length > 1) {
          const message = `${found.length} agents are called ${name}: give the id of one: ${listed(found.slice(0, 10))}`
          return yield* new RequestFailed({ code: null, message })
        }
        const all = (yield* ask(client.agents.list({ urlParams: { limit: 10 } }))).agents
        const hint =
          all.length === 0 ? "the project has none: make one with POST /v1/agents" : `there are ${listed(all)}`
        return yield* new RequestFailed({
          code: "AGENT_NOT_FOUND",
          message: `no agent ${name} in this project: ${hint}`
        })
      })

    const include = { urlParams: { include: "tools" } } as const
    return SessionClient.of({
      agent: (idOrName) =>
        /^(agent_\w+|\d+)$/.test(idOrName)
          ? ask(client.agents.get({ path: { agentId: idOrName } })).pipe(
              Effect.map(({ agent }) => agent),
              Effect.catchIf(
                ({ code }) => code === "AGENT_NOT_FOUND",
                () => named(idOrName)
              )
            )
          : named(idOrName),
      create: (payload) => Effect.map(ask(client.testSessions.create({ payload, ...include })), (a) => a.test_session),
      message: (sessionId, payload) => ask(client.testSessions.message({ path: { sessionId }, payload, ...include })),
      get: (sessionId) =>
        Effect.map(ask(client.testSessions.get({ path: { sessionId }, ...include })), (a) => a.test_session),
      callLink: (agentId, payload) => ask(client.browserCalls.create({ path: { agentId }, payload })),
      end: (sessionId) => Effect.asVoid(ask(client.testSessions.end({ path: { sessionId } })))
    })
  })

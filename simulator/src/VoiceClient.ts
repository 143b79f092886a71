import { HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import type { Agent } from "@svc/api/agents/Agent"
import type { Call } from "@svc/api/calls/Call"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"
import { VoiceApi } from "@svc/api/VoiceApi"
import type { DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { Context, Data, Duration, Effect, Layer, Predicate, Redacted } from "effect"
import { ServerAddress } from "./ServerAddress.ts"

/** A request to the voice API failed. */
export class ApiFailure extends Data.TaggedError("ApiFailure")<{
  /** `unreachable`: no answer. `refused`: there is no key, or it was not accepted. `failed`: any other error. */
  readonly kind: "unreachable" | "refused" | "failed"
  readonly message: string
}> {}

/** What to do without a key. */
export const keyAdvice =
  "set SVC_KEY to a project key, or use --key; the first start of the server prints one, and svc keys create project --org <id> --project <id> makes one"

/** What is wrong with a key, as far as it shows before it is used. */
const keyProblem = (key: Redacted.Redacted | null): string | undefined => {
  if (key === null) return `no key is given: ${keyAdvice}`
  const kinds = { svc_org_: "an organization key", svc_wsp_: "a workspace key" }
  const found = Object.entries(kinds).find(([prefix]) => Redacted.value(key).startsWith(prefix))
  return found === undefined ? undefined : `the key is ${found[1]}: ${keyAdvice}`
}

/** How many numbers are listed at most. */
export const listLimit = 100

/** The part of the voice API that the simulator uses. */
export class VoiceClient extends Context.Tag("@svc/simulator/VoiceClient")<
  VoiceClient,
  {
    /** The newest numbers of the project, at most {@link listLimit}. */
    readonly numbers: Effect.Effect<ReadonlyArray<PhoneNumber>, ApiFailure>
    readonly agents: Effect.Effect<ReadonlyArray<Agent>, ApiFailure>
    /** All about a call, also while it runs. */
    readonly timeline: (callId: string) => Effect.Effect<CallTimeline, ApiFailure>
    /** Every attempt to deliver an event of the call, oldest first. */
    readonly deliveries: (callId: string) => Effect.Effect<ReadonlyArray<DeliveryRecord>, ApiFailure>
    /** The address of a call's debug page. */
    readonly debugLink: (callId: string) => Effect.Effect<string, ApiFailure>
    /**
     * The timeline of the newest call between two numbers that started at `since` (milliseconds since the epoch) or, because clocks
     * differ, a few seconds earlier. It finds a call that ended before its id was known.
     */
    readonly newestCall: (from: string, to: string, since: number) => Effect.Effect<CallTimeline | null, ApiFailure>
    /** Places a call from the number `from`, with its agent, to the number `to`. */
    readonly placeCall: (from: string, to: string) => Effect.Effect<Call, ApiFailure>
    readonly createAgent: (agent: {
      readonly name: string
      readonly server_url: string
      /** False by default. */
      readonly recording?: boolean
    }) => Effect.Effect<{ readonly agent: Agent; readonly server_secret: string }, ApiFailure>
    /** The address of a page on which a person calls the agent, for a day. */
    readonly callLink: (agentId: string) => Effect.Effect<string, ApiFailure>
    readonly importNumber: (number: string) => Effect.Effect<PhoneNumber, ApiFailure>
    readonly assignNumber: (numberId: number, agentId: string) => Effect.Effect<void, ApiFailure>
  }
>() {
  static readonly layer: Layer.Layer<VoiceClient, never, ServerAddress | HttpClient.HttpClient> = Layer.effect(
    VoiceClient,
    Effect.gen(function* () {
      const { url, key } = yield* ServerAddress
      const client = yield* HttpApiClient.make(VoiceApi, {
        baseUrl: url,
        transformClient: HttpClient.mapRequest(
          key === null ? (request) => request : HttpClientRequest.bearerToken(Redacted.value(key))
        )
      })

      const wrongKey = keyProblem(key)
      const ask = <A, E>(what: string, request: Effect.Effect<A, E>): Effect.Effect<A, ApiFailure> =>
        wrongKey !== undefined
          ? Effect.fail(new ApiFailure({ kind: "refused", message: wrongKey }))
          : request.pipe(
              Effect.timeout(Duration.seconds(10)),
              Effect.mapError((error) => failure(what, error))
            )

      const timeline = (callId: string) => ask(`read call ${callId}`, client.callTimeline.get({ path: { callId } }))

      return {
        numbers: Effect.map(
          ask("list the phone numbers", client.phoneNumbers.list({ urlParams: { limit: listLimit } })),
          (page) => page.phone_numbers
        ),
        agents: Effect.map(
          ask("list the agents", client.agents.list({ urlParams: { limit: listLimit } })),
          (page) => page.agents
        ),
        timeline: Effect.fn("VoiceClient.timeline")(timeline),
        deliveries: Effect.fn("VoiceClient.deliveries")((callId) =>
          Effect.map(
            ask(`read the deliveries of ${callId}`, client.callDeliveries.list({ path: { callId } })),
            (page) => page.deliveries
          )
        ),
        debugLink: Effect.fn("VoiceClient.debugLink")((callId) =>
          Effect.map(
            ask(`get the debug page of ${callId}`, client.calls.debugLink({ path: { callId } })),
            (link) => new URL(link.url, url).href
          )
        ),
        newestCall: Effect.fn("VoiceClient.newestCall")(function* (from, to, since) {
          const page = yield* ask("list the calls", client.calls.list({ urlParams: { limit: 20 } }))
          const found = page.calls.find(
            (c) => c.from_number === from && c.to_number === to && Date.parse(c.started_at) > since - 5_000
          )
          return found === undefined ? null : yield* timeline(found.call_id)
        }),
        placeCall: Effect.fn("VoiceClient.placeCall")(function* (from, to) {
          const page = yield* ask(
            "list the phone numbers",
            client.phoneNumbers.list({ urlParams: { limit: listLimit } })
          )
          const agent_id = page.phone_numbers.find(({ number }) => number === from)?.agent_id ?? null
          if (agent_id === null) {
            return yield* new ApiFailure({ kind: "failed", message: `cannot place a call: ${from} has no agent` })
          }
          const payload = { agent_id, from_number: from, to_number: to, ring_timeout_seconds: 30 }
          return yield* ask("place a call", client.calls.place({ payload }))
        }),
        createAgent: Effect.fn("VoiceClient.createAgent")((agent) =>
          ask(
            "create the agent",
            client.agents.create({
              payload: {
                language: "en-US",
                voice: "Sarah",
                max_duration: 1800,
                recording: false,
                end_call_enabled: true,
                ...agent
              }
            })
          )
        ),
        callLink: Effect.fn("VoiceClient.callLink")((agentId) =>
          Effect.map(
            ask(
              "make a link to the agent",
              client.browserCalls.create({ path: { agentId }, payload: { expires_in: 86_400, max_calls: 1000 } })
            ),
            (link) => new URL(link.url, url).href
          )
        ),
        importNumber: Effect.fn("VoiceClient.importNumber")((number) =>
          Effect.map(
            ask("import the number", client.phoneNumbers.import({ payload: { number, telephony: "simulated" } })),
            (answer) => answer.phone_number
          )
        ),
        assignNumber: Effect.fn("VoiceClient.assignNumber")((numberId, agentId) =>
          Effect.asVoid(
            ask(
              "assign the number",
              client.phoneNumbers.assign({ path: { numberId: String(numberId) }, payload: { agent_id: agentId } })
            )
          )
        )
      }
    })
  )
}

/** A readable error for any error of the client. */
const failure = (what: string, error: unknown): ApiFailure => {
  const say = (kind: ApiFailure["kind"], why: string) => new ApiFailure({ kind, message: `cannot ${what}: ${why}` })
  if (Predicate.isTagged(error, "RequestError")) return say("unreachable", "the server does not answer")
  if (Predicate.isTagged(error, "TimeoutException")) return say("unreachable", "no answer within 10 s")
  if (Predicate.isTagged(error, "ParseError")) return say("failed", "the answer does not match the API")
  if (Predicate.isTagged(error, "ResponseError") && Predicate.hasProperty(error, "response")) {
    const { response } = error
    const status = Predicate.hasProperty(response, "status") ? Number(response.status) : 0
    return say(status === 401 || status === 403 ? "refused" : "failed", `the server answered ${status}`)
  }
  if (Predicate.hasProperty(error, "code") && Predicate.hasProperty(error, "message")) {
    const code = String(error.code)
    const refused = ["MISSING_API_KEY", "INVALID_API_KEY", "AUTH_RATE_LIMITED", "PROJECT_ID_REQUIRED"].includes(code)
    const advice = code === "INVALID_API_KEY" ? `: ${keyAdvice}` : ""
    return say(refused ? "refused" : "failed", `${String(error.message)} (${code})${advice}`)
  }
  return say("failed", "unexpected answer")
}

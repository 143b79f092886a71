import { FetchHttpClient, HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import type { TurnLatency } from "@svc/api/calls/Call"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect } from "effect"
import { BenchFailed } from "./Child.ts"

/** What the bench creates and reads through the API. */
export interface Account {
  /** Creates an agent with a number. Returns the number. */
  readonly open: (
    customerUrl: string,
    recording: boolean,
    telephony?: "simulated" | "sip",
    number?: string
  ) => Effect.Effect<string, BenchFailed>
  /** The path of a link to the agent that was created. */
  readonly link: Effect.Effect<string, BenchFailed>
  /** The ids of the calls that came last. */
  readonly newest: (count: number) => Effect.Effect<ReadonlyArray<string>, BenchFailed>
  /** The latencies of the turns of ended calls, from the call records. */
  readonly latencies: (callIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<TurnLatency>, BenchFailed>
}

const firstNumber = "+15550100100"

export const make = (url: string, key: string): Effect.Effect<Account> =>
  Effect.gen(function* () {
    const client = yield* HttpApiClient.make(VoiceApi, {
      baseUrl: url,
      transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(key))
    })
    const failAs = <A, E>(what: string, request: Effect.Effect<A, E>) =>
      Effect.mapError(request, (error) => new BenchFailed({ message: `cannot ${what}: ${String(error)}` }))

    const open = Effect.fn("Account.open")(function* (
      customerUrl: string,
      recording: boolean,
      telephony: "simulated" | "sip" = "simulated",
      number = firstNumber
    ) {
      const { agent } = yield* failAs(
        "create the agent",
        client.agents.create({
          payload: {
            name: "Bench",
            server_url: customerUrl,
            language: "en-US",
            voice: "Sarah",
            max_duration: 7200,
            recording,
            end_call_enabled: false
          }
        })
      )
      const { phone_number } = yield* failAs(
        "import the number",
        client.phoneNumbers.import({ payload: { number, telephony } })
      )
      yield* failAs(
        "assign the number",
        client.phoneNumbers.assign({
          path: { numberId: String(phone_number.id) },
          payload: { agent_id: agent.public_id }
        })
      )
      return number
    })

    const newest = (count: number, cursor?: string): Effect.Effect<ReadonlyArray<string>, BenchFailed> =>
      Effect.gen(function* () {
        const limit = Math.min(100, count)
        const urlParams = { limit, ...(cursor === undefined ? {} : { cursor }) }
        const { calls, next_cursor } = yield* failAs("list the calls", client.calls.list({ urlParams }))
        const ids = calls.map(({ call_id }) => call_id)
        if (next_cursor === null || ids.length >= count) return ids
        return [...ids, ...(yield* newest(count - ids.length, next_cursor))]
      })

    const account: Account = {
      open,
      newest,
      link: Effect.gen(function* () {
        const { agents } = yield* failAs("list the agents", client.agents.list({ urlParams: { limit: 1 } }))
        const agentId = agents[0]?.public_id ?? ""
        const payload = { max_calls: 1000, expires_in: 86_400 }
        const { token } = yield* failAs("create a link", client.browserCalls.create({ path: { agentId }, payload }))
        return `/telephony/browser/${token}`
      }),
      latencies: (callIds) =>
        Effect.map(
          Effect.forEach(callIds, (callId) => failAs(`read call ${callId}`, client.calls.get({ path: { callId } })), {
            concurrency: 10
          }),
          (calls) => calls.flatMap((call) => call.latency_data.turns)
        )
    }
    return account
  }).pipe(Effect.provide(FetchHttpClient.layer))

import { Effect, type Scope } from "effect"
import { textAt } from "./ApiClient.ts"
import * as CustomerServer from "./CustomerServer.ts"
import * as PhoneClient from "./PhoneClient.ts"
import type { ServerProcess } from "./ServerProcess.ts"

/** An agent, its server, and its number. */
export interface Line {
  readonly number: string
  readonly agentId: string
  /** Signs the requests to the agent's server. */
  readonly secret: string
  readonly customer: CustomerServer.CustomerServer
  /** A phone that is connected and has not dialled. */
  readonly phone: Effect.Effect<PhoneClient.PhoneClient, never, Scope.Scope>
  /** Dials; returns the phone when the call is answered. */
  readonly call: Effect.Effect<{ readonly phone: PhoneClient.PhoneClient; readonly callId: string }, never, Scope.Scope>
}

/** The number that callers call from. */
export const caller = "+15550001111"

let numbers = 0

/** An unused number of the test network. */
export const freshNumber = (): string => `+1555${String(2_000_000 + ++numbers)}`

/** Makes an agent, imports a number and assigns it, through the API. */
export const open = (
  { api, url }: Pick<ServerProcess, "api" | "url">,
  behaviour: CustomerServer.Behaviour,
  agent: { readonly [field: string]: unknown } = {}
): Effect.Effect<Line, never, Scope.Scope> =>
  Effect.gen(function* () {
    const customer = yield* CustomerServer.start(behaviour)
    const created = yield* api.post("/v1/agents", { name: "Line", server_url: customer.url, ...agent })
    const agentId = textAt(created.body, "agent.public_id")
    const number = freshNumber()
    const imported = yield* api.post("/v1/phone-numbers/import", { number, telephony: "simulated" })
    const id = textAt(imported.body, "phone_number.id")
    const assigned = yield* api.patch(`/v1/phone-numbers/${id}`, { agent_id: agentId })
    if (textAt(assigned.body, "phone_number.agent_id") !== agentId) throw new Error(`not assigned: ${assigned.text}`)
    const phone = PhoneClient.connect(url)
    return {
      number,
      agentId,
      secret: textAt(created.body, "server_secret"),
      customer,
      phone,
      call: Effect.gen(function* () {
        const connected = yield* phone
        connected.send({ event: "dial", to: number, from: caller })
        const { call_id } = yield* connected.until("answered")
        return { phone: connected, callId: call_id }
      })
    }
  })

/** A `call.started` answer whose model follows a script; its first_message is `Hello.` by default. */
export const configuration = (
  script: unknown,
  more: { readonly [field: string]: unknown } = {}
): CustomerServer.Answer => ({
  json: {
    system_prompt: `You answer the phone.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``,
    first_message: "Hello.",
    ...more
  }
})

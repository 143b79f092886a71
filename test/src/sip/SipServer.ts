import { Effect, type Scope } from "effect"
import { textAt } from "../blackbox/ApiClient.ts"
import * as CustomerServer from "../blackbox/CustomerServer.ts"
import { freshNumber } from "../blackbox/Line.ts"
import * as ServerProcess from "../blackbox/ServerProcess.ts"
import { openSip, type SipPhone } from "./SipPhone.ts"

/** A server with the SIP plugin, whose trunk is the phone. */
export interface SipServer {
  readonly server: ServerProcess.ServerProcess
  /** Its SIP port on 127.0.0.1. */
  readonly port: number
}

/** Starts a server whose trunk is on this port. Speech and models are those of `SVC_PLUGINS`, by default simulated ones. */
export const startServer = (
  trunkPort: number,
  { env, ...options }: ServerProcess.ServerOptions
): Effect.Effect<SipServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* ServerProcess.start({
      ...options,
      env: {
        SVC_PLUGINS: "@svc/plugin-simulated,@svc/plugin-sip",
        SVC_SIP_BIND: "127.0.0.1:0",
        SVC_SIP_RTP_PORTS: "38000-38199",
        SVC_SIP_TRUNK_URI: `sip:127.0.0.1:${trunkPort}`,
        ...env
      }
    })
    const listens = /SIP on 127\.0\.0\.1:(\d+)/
    const line = yield* server.lines.find("the SIP port", (text) => listens.test(text))
    return { server, port: Number(listens.exec(line)?.[1]) }
  })

/** A phone, and a server that has it as its trunk. */
export const phoneAndServer = (
  options: ServerProcess.ServerOptions
): Effect.Effect<SipServer & { readonly phone: SipPhone }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const phone = yield* openSip
    const started = yield* startServer(phone.port, options)
    phone.connect(started.port)
    return { ...started, phone }
  })

export interface SipLine {
  readonly number: string
  readonly agentId: string
  readonly customer: CustomerServer.CustomerServer
}

/** Makes an agent with a number of the SIP plugin. */
export const openLine = (
  { api }: Pick<ServerProcess.ServerProcess, "api">,
  behaviour: CustomerServer.Behaviour,
  agent: { readonly [field: string]: unknown } = {}
): Effect.Effect<SipLine, never, Scope.Scope> =>
  Effect.gen(function* () {
    const customer = yield* CustomerServer.start(behaviour)
    const created = yield* api.post("/v1/agents", { name: "SIP", server_url: customer.url, ...agent })
    const agentId = textAt(created.body, "agent.public_id")
    const number = freshNumber()
    const imported = yield* api.post("/v1/phone-numbers/import", { number, telephony: "sip" })
    yield* api.patch(`/v1/phone-numbers/${textAt(imported.body, "phone_number.id")}`, { agent_id: agentId })
    return { number, agentId, customer }
  })

/** The platform's id of the newest call of an agent. */
export const lastCall = (
  { api }: Pick<ServerProcess.ServerProcess, "api">,
  { agentId }: SipLine
): Effect.Effect<string> =>
  Effect.map(api.get(`/v1/calls?agent_id=${agentId}`), ({ body }) => textAt(body, "calls.0.call_id"))

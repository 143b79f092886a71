import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import { gatherBegins } from "@svc/api/calls/CallTimeline"
import { turnLatency } from "@svc/api/testing/CallFixtures"
import { ClientMessage, type ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Effect, Schema, type Scope } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { phoneNumber, timelineOf } from "./Records.ts"

/** The behaviour of the fake server's agent, by the dialled number. */
export const numbers = {
  /** Greets, repeats what the caller says, names pressed digits, and hangs up after "bye". */
  friendly: "+15550000001",
  /** Answers and never speaks. */
  silent: "+15550000002",
  busy: "+15550000003",
  /** Greets and hangs up. */
  brief: "+15550000004",
  /** The server dies when the caller speaks. */
  fatal: "+15550000005",
  /** Sends malformed messages. */
  malformed: "+15550000006",
  /** Speaks until it is interrupted. */
  endless: "+15550000007",
  /** Never answers. */
  ringing: "+15550000008",
  /** Waits for a digit before it greets. */
  menu: "+15550000009"
} as const

export const key = "svc_live_0123456789abcdef0123456789abcdef0123456789abcdef"
const agentId = "agent_aaaaaaaaaaaaaaaaaaaaaaaa"
const time = "2026-11-01T09:30:00.000Z"

export const greeting = "Good morning, this is the test agent."

const decode = Schema.decodeUnknownSync(Schema.parseJson(ClientMessage))

export const agent = {
  id: 1,
  public_id: agentId,
  name: "Test agent",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  recording: false,
  end_call_enabled: true,
  server_url: "https://customer.example/",
  server_secret_hint: "...00000000",
  webhook_url: null,
  webhook_secret_hint: null,
  webhook_events: null,
  knowledge_base_ids: [],
  created_at: time,
  updated_at: time
}

const listed = (number: string, id: number) => ({ ...phoneNumber(number, id), agent_id: agentId })

/** A server with the protocol of the phone network, a part of the API and a simple agent. */
export class FakeServer {
  readonly calls = new Map<string, CallTimeline>()
  /** How timelines are answered: normally, with an error, or never. */
  timelines: "normal" | 404 | 500 | "never" = "normal"
  /** All messages of the phones. */
  readonly received: Array<ClientMessage> = []
  #port = 0
  #stop: (() => void) | undefined
  #nextCall = 1

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens. After `die` it listens on the same port again. */
  start(): Promise<void> {
    const http = createServer((request, response) => this.#answer(request, response))
    const network = new WebSocketServer({ server: http, path: "/telephony/simulated" })
    network.on("connection", (socket) => this.#phone(socket))
    this.#stop = () => {
      for (const socket of network.clients) socket.terminate()
      network.close()
      http.close()
      http.closeAllConnections()
    }
    return new Promise((resolve) => {
      http.listen(this.#port, "127.0.0.1", () => {
        this.#port = (http.address() as AddressInfo).port
        resolve()
      })
    })
  }

  /** Breaks every connection, like a killed process. */
  die(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    const path = new URL(request.url ?? "/", this.url).pathname
    if (request.headers.authorization !== `Bearer ${key}`) {
      const message = "API key is invalid"
      return void send(401, { code: "INVALID_API_KEY", message, error: message })
    }
    if (path === "/v1/phone-numbers") {
      return void send(200, { phone_numbers: Object.values(numbers).map(listed), next_cursor: null })
    }
    if (path === "/v1/agents") return void send(200, { agents: [agent], next_cursor: null })
    if (path === "/v1/calls")
      return void send(200, { calls: [...this.calls.values()].reverse().map(({ call }) => call), next_cursor: null })
    const [, , , id = "", what] = path.split("/")
    const timeline = this.calls.get(id)
    if (timeline !== undefined && what === "timeline") {
      if (this.timelines === "never") return
      if (this.timelines === "normal") return void send(200, timeline)
      const message = "something is wrong"
      const code = this.timelines === 404 ? "CALL_NOT_FOUND" : "INTERNAL_ERROR"
      return void send(this.timelines, { code, message, error: message })
    }
    if (timeline !== undefined && what === "webhooks") return void send(200, { deliveries: [] })
    if (timeline !== undefined && what === "debug-link") {
      return void send(200, { url: `/debug/calls/${id}`, debug_token: id })
    }
    send(404, { code: "CALL_NOT_FOUND", message: "call not found", error: "call not found" })
  }

  #phone(socket: WebSocket): void {
    const send = (message: ServerMessage) => socket.send(JSON.stringify(message))
    let callId: string | undefined
    let to = ""
    let open: string | undefined

    const change = (
      edit: (timeline: CallTimeline) => Partial<CallTimeline>,
      call: Partial<CallTimeline["call"]> = {}
    ) => {
      const timeline = callId === undefined ? undefined : this.calls.get(callId)
      if (timeline === undefined || callId === undefined) return
      this.calls.set(callId, { ...timeline, ...edit(timeline), call: { ...timeline.call, ...call } })
    }
    const turn = (role: "assistant" | "user", text: string, stages: ReturnType<typeof turnLatency> | null = null) =>
      change(({ turns }) => {
        const index = turns.length
        const started_at = 1000 * index
        return { turns: [...turns, { index, role, text, started_at, ended_at: null, interrupted: false, stages }] }
      })
    const began = (what: string, actor: CallTimeline["events"][number]["actor"]) =>
      change(({ events }) => ({ events: [...events, { at: 0, actor, what, data: null }] }))
    const speak = (text: string, stages: ReturnType<typeof turnLatency> | null = null) => {
      const words = text.split(" ")
      for (let n = 1; n < words.length; n++) send({ event: "heard", text: words.slice(0, n).join(" "), final: false })
      // What was played is in the timeline when it has been heard.
      turn("assistant", text, stages)
      send({ event: "heard", text, final: true })
    }
    const answerTo = (text: string, answer: string, tool?: string) => {
      turn("user", text)
      if (tool !== undefined) {
        change(
          ({ tools }) => ({
            tools: [
              ...tools,
              {
                id: `t${tools.length}`,
                name: tool,
                started_at: 1,
                ended_at: 13,
                status: "completed",
                arguments: { day: "Friday" },
                result: { booked: true }
              }
            ]
          }),
          { tools_called: [tool] }
        )
      }
      speak(answer, turnLatency())
    }
    const endCall = (ended_reason: CallTimeline["call"]["ended_reason"]) => {
      const ended_at = new Date().toISOString()
      change(() => ({}), { status: "completed", disposition: "answered", ended_reason, ended_at })
      callId = undefined
    }
    const dial = (from: string) => {
      if (to === numbers.busy) return send({ event: "rejected", cause: "busy" })
      send({ event: "ringing" })
      if (to === numbers.ringing) return
      callId = `call_${String(this.#nextCall++).padStart(24, "0")}`
      const started_at = new Date().toISOString()
      this.calls.set(callId, timelineOf(callId, {}, { from_number: from, to_number: to, started_at }))
      send({ event: "answered", call_id: callId })
      if (to === numbers.silent) return
      if (to === numbers.malformed) {
        socket.send("this is not JSON")
        socket.send('{"event":"fireworks"}')
        socket.send('{"event":"heard","text":5}')
        socket.send(Buffer.from([0, 255, 254]))
      }
      if (to === numbers.endless) {
        open = "One moment please while"
        return send({ event: "heard", text: open, final: false })
      }
      if (to === numbers.menu) {
        began(gatherBegins.menu, "server")
        return send({ event: "heard", text: "Press 1 for appointments.", final: true })
      }
      speak(greeting)
      if (to === numbers.brief) {
        endCall("agent-hangup")
        send({ event: "hangup", cause: "agent-hangup" })
      }
    }

    socket.on("message", (data) => {
      const message = decode(data.toString())
      this.received.push(message)
      if (message.event === "dial") {
        to = message.to
        dial(message.from)
      } else if (message.event === "say") {
        if (to === numbers.fatal) return this.die()
        if (to === numbers.silent) return
        if (open !== undefined) {
          send({ event: "heard", text: `${open} I`, final: true })
          send({ event: "clear" })
          open = undefined
        }
        answerTo(message.text, `You said: ${message.text}`, /book/.test(message.text) ? "book_appointment" : undefined)
        if (/bye/.test(message.text)) {
          endCall("agent-hangup")
          send({ event: "hangup", cause: "agent-hangup" })
        }
      } else if (message.event === "dtmf") {
        if (to === numbers.menu) began("call.gather.completed", "event")
        speak(`You pressed ${message.digits}`)
      } else if (message.event === "hangup") {
        endCall("caller-hangup")
      }
    })
    socket.on("close", () => endCall("caller-hangup"))
    socket.on("error", () => {})
  }
}

/** A fake server that listens while the scope is open. */
export const fakeServer: Effect.Effect<FakeServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new FakeServer()
    await server.start()
    return server
  }),
  (server) => Effect.sync(() => server.die())
)

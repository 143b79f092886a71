import * as http from "node:http"
import { Deferred, Effect, FiberId, type Scope } from "effect"
import { WebSocket } from "ws"
import * as Child from "./Child.ts"
import type { HostileAnswer } from "./HostileAnswers.ts"
import { number } from "./HostileValues.ts"

/** The server of a hostile tenant's agent. */
export interface HostileServer {
  readonly url: string
  /** Gives these answers from now on. */
  readonly give: (answer: HostileAnswer) => void
  /** Completes when it was asked for this event since `give`, and has answered. */
  readonly asked: (event: ServerEvent) => Effect.Effect<void>
}

type ServerEvent = "call.started" | "tool.call" | "transcript.updated"

const isServerEvent = (event: unknown): event is ServerEvent =>
  event === "call.started" || event === "tool.call" || event === "transcript.updated"

/** The request whose answer is the input. */
const eventOf = ({ tool, transcript }: HostileAnswer): ServerEvent =>
  transcript !== undefined ? "transcript.updated" : tool !== undefined ? "tool.call" : "call.started"

const make = () => ({
  "call.started": Deferred.unsafeMake<void>(FiberId.none),
  "tool.call": Deferred.unsafeMake<void>(FiberId.none),
  "transcript.updated": Deferred.unsafeMake<void>(FiberId.none)
})

export const hostileServer: Effect.Effect<HostileServer, never, Scope.Scope> = Effect.gen(function* () {
  let current: HostileAnswer | undefined
  let answered = make()
  const bodyOf = (event: ServerEvent) =>
    ({ "call.started": current?.started, "tool.call": current?.tool, "transcript.updated": current?.transcript })[event]
  const server = http.createServer((request, response) => {
    const event = request.headers["x-svc-event"]
    const done = answered
    request.resume().on("end", () => {
      if (!isServerEvent(event)) {
        response.end("{}")
        return
      }
      response.end(bodyOf(event) ?? "{}", () => Deferred.unsafeDone(done[event], Effect.void))
    })
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
  return {
    url: `http://127.0.0.1:${port}/agent`,
    give: (answer) => {
      current = answer
      answered = make()
    },
    asked: (event) => Effect.suspend(() => Deferred.await(answered[event]))
  }
})

/** What an answer leaves to do: reading it, asking the model, writing the journal and the events. */
const aftermath = "600 millis"

/** One call to the hostile agent that gets this answer, from dialling until it was settled. */
export const call = (
  { asked, give }: HostileServer,
  url: string,
  answer: HostileAnswer
): Effect.Effect<void, Child.BenchFailed> =>
  Effect.gen(function* () {
    give(answer)
    const last = eventOf(answer)
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => new WebSocket(`${url.replace(/^http/, "ws")}/telephony/simulated`)),
      (opened) => Effect.sync(() => opened.terminate())
    )
    const send = (message: object) => Effect.sync(() => socket.send(JSON.stringify(message)))
    const until = (event: ServerEvent) =>
      Effect.timeoutFail(asked(event), {
        duration: "8 seconds",
        onTimeout: () => new Child.BenchFailed({ message: `${answer.what}: ${event} was not asked for` })
      })
    socket.on("error", () => {})
    yield* Effect.async<void>((resume) => {
      socket.on("open", () => resume(Effect.void))
    })
    yield* send({ event: "dial", to: number, from: "+15550001111" })
    yield* until("call.started")
    if (last !== "call.started") {
      yield* Effect.sleep("300 millis")
      yield* send({ event: "say", text: "look up it" })
      yield* until(last)
    }
    yield* Effect.sleep(aftermath)
    yield* send({ event: "hangup" })
    yield* Effect.sleep("300 millis")
  }).pipe(Effect.scoped)

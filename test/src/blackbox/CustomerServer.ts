import { createHmac, timingSafeEqual } from "node:crypto"
import * as http from "node:http"
import { Effect, type Scope } from "effect"
import { isRecord, type JsonRecord } from "./ApiClient.ts"
import { Inbox } from "./Inbox.ts"

/** A request that the agent's server got. */
export interface Received {
  readonly event: string
  readonly body: JsonRecord
  readonly raw: string
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  /** Unix milliseconds. */
  readonly at: number
  /** Completes when the client has disconnected or has its answer. */
  readonly over: Promise<void>
}

/** The answer: JSON, written by hand, or (undefined) never. */
export type Answer =
  | { readonly json: unknown }
  | { readonly write: (response: http.ServerResponse) => void }
  | undefined

/** Chooses the answer; a delayed one is written by hand. */
export type Behaviour = (request: Received) => Answer

/** An agent's server on loopback, at `/agent`. */
export interface CustomerServer {
  readonly url: string
  readonly inbox: Inbox<Received>
  /** The next request of that event. */
  readonly until: (event: string) => Effect.Effect<Received>
  /** All requests of that event so far. */
  readonly of: (event: string) => ReadonlyArray<Received>
  /** Connections that are open now. */
  readonly connections: () => number
}

const parse = (raw: string): JsonRecord => {
  const json: unknown = JSON.parse(raw)
  return isRecord(json) ? json : {}
}

/** Sends JSON. */
export const reply = (response: http.ServerResponse, json: unknown): void => {
  response.setHeader("content-type", "application/json").end(JSON.stringify(json))
}

/** Starts one; the scope stops it. */
export const start = (behaviour: Behaviour): Effect.Effect<CustomerServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const inbox = new Inbox<Received>("the customer's server")
    let open = 0
    const server = http.createServer((req, response) => {
      const chunks: Array<Buffer> = []
      req.on("data", (chunk: Buffer) => chunks.push(chunk))
      req.on("end", () => {
        const raw = Buffer.concat(chunks).toString("utf8")
        const body = parse(raw)
        const request: Received = {
          event: String(body["event"]),
          body,
          raw,
          method: req.method ?? "",
          path: req.url ?? "",
          headers: req.headers,
          at: clock.unsafeCurrentTimeMillis(),
          over: new Promise((done) => response.once("close", () => done()))
        }
        const answer = behaviour(request)
        inbox.push(request)
        if (answer === undefined) return
        if ("write" in answer) answer.write(response)
        else reply(response, answer.json)
      })
    })
    server.on("connection", (socket) => {
      open++
      socket.on("error", () => {}).on("close", () => open--)
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      url: `http://127.0.0.1:${port}/agent`,
      inbox,
      until: (event) => inbox.next(event, (request) => request.event === event),
      of: (event) => inbox.all.filter((request) => request.event === event),
      connections: () => open
    }
  })

/**
 * What is wrong with a request's signature and headers; empty when all are valid. See docs/reference/agent-server.md.
 */
export const requestFaults = (request: Received, secret: string): ReadonlyArray<string> => {
  const wrong: Array<string> = []
  const header = (name: string) => String(request.headers[name] ?? "")
  const hmac = (text: string) => createHmac("sha256", secret).update(text, "utf8").digest("hex")
  const time = header("x-svc-timestamp")
  for (const [name, signature] of [
    ["x-svc-signature", `sha256=${hmac(request.raw)}`],
    ["x-svc-signature-v1", `t=${time},v1=${hmac(`${time}.${request.raw}`)}`]
  ] as const) {
    const expected = Buffer.from(signature)
    const given = Buffer.from(header(name))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) wrong.push(`${name} ${given}`)
  }
  if (header("x-call-id") !== request.body["call_id"]) wrong.push(`X-Call-Id ${header("x-call-id")}`)
  if (header("x-svc-event") !== request.event) wrong.push(`X-Svc-Event ${header("x-svc-event")}`)
  const age = request.at / 1000 - Number(header("x-svc-timestamp"))
  if (!(age > -2 && age < 60)) wrong.push(`X-Svc-Timestamp ${header("x-svc-timestamp")}`)
  if (!header("content-type").startsWith("application/json")) wrong.push(`Content-Type ${header("content-type")}`)
  if (request.method !== "POST" || request.path !== "/agent") wrong.push(`${request.method} ${request.path}`)
  return wrong.map((what) => `${request.event}: ${what}`)
}

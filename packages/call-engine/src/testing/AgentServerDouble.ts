import { createHmac } from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

/** A request that the agent's server received. */
export interface Received {
  readonly event: string
  readonly method: string | undefined
  readonly url: string | undefined
  readonly body: Readonly<Record<string, unknown>>
  readonly raw: string
  readonly headers: http.IncomingHttpHeaders
}

/** The answer: a JSON body, or anything written by hand. `undefined`: no answer. */
export type Answer = { readonly json: unknown } | { readonly write: (res: http.ServerResponse) => void } | undefined

export interface AgentServerDouble {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Sockets that are open now. */
  readonly connections: () => number
}

/** Starts an agent's server on loopback. */
export const start = (answer: (request: Received) => Answer): Effect.Effect<AgentServerDouble, never, Scope.Scope> =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = http.createServer((req, res) => {
      const chunks: Array<Buffer> = []
      req.on("data", (chunk: Buffer) => chunks.push(chunk))
      req.on("end", () => {
        const raw = Buffer.concat(chunks).toString("utf8")
        const body: Record<string, unknown> = JSON.parse(raw)
        const { headers, method, url } = req
        const request = { event: String(body["event"]), method, url, body, raw, headers }
        received.push(request)
        const reply = answer(request)
        if (reply === undefined) return
        if ("write" in reply) reply.write(res)
        else res.setHeader("content-type", "application/json").end(JSON.stringify(reply.json))
      })
    })
    let open = 0
    server.on("connection", (socket) => {
      open++
      socket.on("close", () => open--)
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    )
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}/agent`, received, connections: () => open }
  })

const hmac = (secret: string, text: string): string => createHmac("sha256", secret).update(text).digest("hex")

/** The expected `X-Svc-Signature`. */
export const sign = (secret: string, raw: string): string => `sha256=${hmac(secret, raw)}`

/** The expected `X-Svc-Signature-V1`. */
export const signV1 = (secret: string, unixSeconds: string, raw: string): string =>
  `t=${unixSeconds},v1=${hmac(secret, `${unixSeconds}.${raw}`)}`

import * as Http from "node:http"
import * as Net from "node:net"
import { Effect } from "effect"

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
}

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly key?: string
  readonly headers?: Http.OutgoingHttpHeaders
  readonly body?: string | Uint8Array
  readonly agent?: Http.Agent
}

/** One request over a real socket. Interruption hangs up. */
export const ask = (port: number, { agent, body, headers, key, method, path }: Ask): Effect.Effect<Answer, Error> =>
  Effect.async((resume) => {
    const request = Http.request(
      {
        host: "127.0.0.1",
        port,
        path,
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
        ...(agent === undefined ? {} : { agent })
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () =>
          resume(
            Effect.succeed({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString("utf8")
            })
          )
        )
      }
    )
    request.on("error", (error) => resume(Effect.fail(error)))
    request.end(body)
    return Effect.sync(() => request.destroy())
  })

/** The body, parsed. */
export const json = (answer: Answer): Record<string, unknown> => JSON.parse(answer.text)

/** Sends raw bytes and gives everything that comes back until the server closes the connection. */
export const exchange = (
  port: number,
  bytes: string | ReadonlyArray<string | Uint8Array>
): Effect.Effect<string, Error> =>
  Effect.async((resume) => {
    const socket = Net.connect(port, "127.0.0.1")
    let received = ""
    socket.setEncoding("utf8")
    socket.on("data", (text) => {
      received += text
    })
    socket.on("error", (error) => resume(Effect.fail(error)))
    socket.on("close", () => resume(Effect.succeed(received)))
    for (const part of typeof bytes === "string" ? [bytes] : bytes) socket.write(part)
    return Effect.sync(() => socket.destroy())
  })

import * as Http from "node:http"
import { healthy } from "@svc/providers/Health"
import { type LanguageModel, LanguageModelError } from "@svc/providers/LanguageModel"
import { type Context, Deferred, Effect, FiberId, Queue, type Scope } from "effect"

/** A request for an answer, as the model's server sees it. */
export interface AskedModel {
  /** Sends values as lines of JSON. The model takes each as a delta. */
  readonly send: (...deltas: ReadonlyArray<unknown>) => Effect.Effect<void>
  readonly end: () => void
  /** Cuts the connection. */
  readonly cut: () => void
  /** Completes when the connection has closed, whoever did it. */
  readonly closed: Effect.Effect<void>
}

export interface ModelServer {
  /** The next request. */
  readonly asked: Effect.Effect<AskedModel>
  /** A language model that asks this server. */
  readonly model: Context.Tag.Service<LanguageModel>
}

const generate =
  (port: number): Context.Tag.Service<LanguageModel>["generate"] =>
  (_, onDelta) =>
    Effect.async<void, LanguageModelError>((resume) => {
      const fail = (error: Error) =>
        resume(new LanguageModelError({ reason: `the connection broke: ${error.message}`, retryable: true }))
      const request = Http.request({ host: "127.0.0.1", port, method: "POST" }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (piece: string) => {
          const lines = (text + piece).split("\n")
          text = lines.pop() ?? ""
          for (const line of lines) onDelta(JSON.parse(line))
        })
        response.on("end", () => resume(Effect.void)).on("error", fail)
      })
      request.on("error", fail)
      request.end()
      return Effect.sync(() => void request.destroy())
    })

/** A model's server that does what a test tells it, and a model that asks it over HTTP. */
export const startModelServer: Effect.Effect<ModelServer, never, Scope.Scope> = Effect.gen(function* () {
  const requests = yield* Queue.unbounded<AskedModel>()
  const server = Http.createServer((_, response) => {
    const closed = Deferred.unsafeMake<void>(FiberId.none)
    response.on("close", () => Deferred.unsafeDone(closed, Effect.void))
    response.writeHead(200)
    response.flushHeaders()
    requests.unsafeOffer({
      send: (...deltas) =>
        Effect.async<void>((resume) => {
          const lines = deltas.map((delta) => `${JSON.stringify(delta)}\n`).join("")
          response.write(lines, () => resume(Effect.void))
        }),
      end: () => void response.end(),
      cut: () => void response.destroy(),
      closed: Deferred.await(closed)
    })
  })
  const port = yield* Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  return {
    asked: Queue.take(requests),
    model: { id: "remote", models: ["remote"], health: Effect.succeed(healthy), generate: generate(port) }
  }
})

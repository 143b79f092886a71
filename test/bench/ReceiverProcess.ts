import * as http from "node:http"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { Histogram } from "./Histogram.ts"
import { serveRequests } from "./RequestHandlers.ts"
import type { ReceiverRequests } from "./WebhookRequests.ts"

// The receiver of the webhooks bench, in a process of its own: answers 200, except to `/hang`, which
// it never answers, and measures the time of each event by the stamp in it. Processes of one machine share the clock of
// `hrtime`.

const program = Effect.gen(function* () {
  const times = new Histogram()
  let first = 0
  let last = 0
  const server = http.createServer((request, response) => {
    if (request.url === "/hang") return void request.resume()
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const stamp = /stamp:(\d+)/.exec(Buffer.concat(chunks).toString("latin1"))?.[1]
      last = performance.now()
      if (times.count === 0) first = last
      times.add(stamp === undefined ? 0 : Number(process.hrtime.bigint() - BigInt(stamp)) / 1e6)
      response.writeHead(200).end()
    })
  })
  server.keepAliveTimeout = 60_000
  yield* Effect.async<void>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.void))
  })
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  yield* serveRequests<ReceiverRequests>({
    address: () => Effect.succeed(`http://127.0.0.1:${port}/events`),
    begin: () =>
      Effect.as(
        Effect.sync(() => times.clear()),
        undefined
      ),
    figures: () =>
      Effect.sync(() => ({ count: times.count, perSecond: (times.count / (last - first)) * 1000, ...times.quantiles }))
  })
  yield* Effect.sync(() => server.closeAllConnections())
  yield* Effect.async<void>((resume) => {
    server.close(() => resume(Effect.void))
  })
})

NodeRuntime.runMain(program)

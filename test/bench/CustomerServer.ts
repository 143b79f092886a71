import * as http from "node:http"
import { Effect, type Scope } from "effect"

/** A script whose model answers at once; one phrase calls a tool. */
const script = {
  first_token_ms: 0,
  rules: [
    { user: "look up (\\w+)", tool: "lookup", arguments: { what: "$1" } },
    { tool_result: "lookup", say: "That costs {{result.price}} euro today" }
  ],
  otherwise: "I have heard that you say {{user}}"
}

const configuration = JSON.stringify({
  system_prompt: `You answer the phone.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``,
  first_message: "Good day, how can I help you",
  tools: [
    {
      name: "lookup",
      description: "Looks a price up",
      parameters: { type: "object", properties: { what: { type: "string" } } }
    }
  ]
})
const result = JSON.stringify({ result: { price: 12 } })

/** The agent's server: answers every request at once. Returns its URL. */
export const start: Effect.Effect<string, never, Scope.Scope> = Effect.gen(function* () {
  const server = http.createServer((request, response) => {
    const event = request.headers["x-svc-event"]
    const body = event === "call.started" ? configuration : event === "tool.call" ? result : "{}"
    request.resume()
    request.on("end", () => response.setHeader("content-type", "application/json").end(body))
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
  return `http://127.0.0.1:${port}/agent`
})

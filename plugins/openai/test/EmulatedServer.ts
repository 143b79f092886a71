import type { ServerResponse } from "node:http"
import * as Emulated from "@svc/providers/testing/EmulatedServer"
import { Effect, type Scope } from "effect"

export type Received = Emulated.EmulatedRequest

/** Answers a request, or leaves it open. */
export type Behaviour = (received: Received, response: ServerResponse) => void

export interface EmulatedServer {
  /** With `/v1`. */
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Requests to a path of which the answer is neither complete nor broken off. */
  readonly open: () => number
  /** Milliseconds since the start of the process at which each connection was broken off by the client. */
  readonly brokenOff: ReadonlyArray<number>
}

/** A server on a real socket, which closes with the scope. */
export const emulatedServer = (behaviour: Behaviour): Effect.Effect<EmulatedServer, never, Scope.Scope> =>
  Effect.map(Emulated.emulatedServer({ request: behaviour }), ({ brokenOff, openRequests, origin, requests }) => ({
    url: `${origin}/v1`,
    received: requests,
    open: openRequests,
    brokenOff
  }))

export const answerJson = (
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {}
) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

/** An error as OpenAI writes it. */
export const answerError = (
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {}
) => answerJson(response, { error: { message, type: "error", param: null, code: null } }, status, headers)

/** One event of a stream of chat completions. */
export const chunk = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "small",
    choices: [{ index: 0, delta, finish_reason: finish }]
  })}\n\n`

export const usageChunk = (usage: unknown): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage })}\n\n`

export const done = "data: [DONE]\n\n"

/** Writes pieces with a pause of some milliseconds before each but the first, and then calls `last`. */
export const stream = (
  response: ServerResponse,
  pieces: ReadonlyArray<string | Buffer>,
  pauseMs = 2,
  last: () => unknown = () => response.end()
) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  const write = (at: number): void => {
    const piece = pieces[at]
    if (piece === undefined) {
      last()
      return
    }
    if (response.destroyed) return
    response.write(piece)
    setTimeout(() => write(at + 1), pauseMs)
  }
  write(0)
}

export const words = ["One", " two", " three", " four", " five", " six"]
export const usage = { prompt_tokens: 20, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 16 } }

export const toolEvents = [
  chunk({ role: "assistant", content: null }),
  chunk({ tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "find", arguments: "" } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"day":' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '"Monday"}' } }] }),
  chunk({ tool_calls: [{ index: 1, id: "call_b", type: "function", function: { name: "book", arguments: '{"at"' } }] }),
  chunk({ tool_calls: [{ index: 1, function: { arguments: ":10}" } }] }),
  chunk({}, "tool_calls"),
  usageChunk(usage),
  done
]

export const textEvents = [
  chunk({ role: "assistant", content: "" }),
  ...words.map((content) => chunk({ content })),
  chunk({}, "stop"),
  usageChunk(usage),
  done
]

/** A server that works: two models, words, and tool calls for whoever says "book". */
export const works: Behaviour = ({ json, path }, response) => {
  if (path === "/v1/models") {
    return void answerJson(response, {
      object: "list",
      data: ["small", "large", "text-embedding-3-small"].map((id) => ({ id }))
    })
  }
  if (path !== "/v1/chat/completions") return void answerError(response, 404, `no ${path}`)
  const messages = JSON.stringify(json["messages"])
  const wantsTools = messages.includes("book") && !messages.includes('"tool"')
  stream(response, wantsTools ? toolEvents : textEvents)
}

/** The models work; other requests are answered by `behaviour`. */
export const chatWith =
  (behaviour: Behaviour): Behaviour =>
  (received, response) =>
    received.path === "/v1/models" ? works(received, response) : behaviour(received, response)

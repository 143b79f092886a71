import { createHmac } from "node:crypto"
import type { CallAgent } from "@svc/agents/Agents"
import {
  type CallStartedRequest,
  ToolCallAnswer,
  type ToolCallRequest,
  type TranscriptUpdatedRequest
} from "@svc/api/callbacks/CallStarted"
import { readJson } from "@svc/api/JsonLimits"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Clock, Context, Data, Effect, Layer, Schema } from "effect"
import { Agent, type Dispatcher } from "undici"
import { type RequestTrace, type ServerRequest, traced } from "./ServerRequest.ts"

/** The agent's server did not give a usable answer; `reason` is one plain sentence. */
export class ServerRequestFailed extends Data.TaggedError("ServerRequestFailed")<{ readonly reason: string }> {}

type RequestBody = CallStartedRequest | ToolCallRequest | TranscriptUpdatedRequest

/** Longest wait for the answer to `call.started`, in milliseconds. */
export const callStartedMs = 5_000
const transcriptMs = 5_000
/** Longest answer that is read, in KB. That to `transcript.updated` is not used. */
const maxAnswerKb = { "call.started": 128, "tool.call": 256, "transcript.updated": 128 } as const

/** Called with every request once it has completed. */
type OnDone = (request: ServerRequest) => void

/** Requests to an agent's `server_url`, signed with the agent's secret. See docs/reference/agent-server.md. */
export class AgentServerClient extends Context.Tag("@svc/call-engine/AgentServerClient")<
  AgentServerClient,
  {
    /** Returns the parsed JSON of the answer, within the limits of JSON from outside, not yet validated. */
    readonly callStarted: (
      agent: CallAgent,
      body: CallStartedRequest,
      onDone?: OnDone
    ) => Effect.Effect<unknown, ServerRequestFailed>
    /** Returns the tool's result. Sets no time limit. */
    readonly toolCall: (
      agent: CallAgent,
      body: ToolCallRequest,
      onDone?: OnDone
    ) => Effect.Effect<unknown, ServerRequestFailed>
    readonly transcriptUpdated: (
      agent: CallAgent,
      body: TranscriptUpdatedRequest,
      onDone?: OnDone
    ) => Effect.Effect<void, ServerRequestFailed>
  }
>() {
  static readonly layer: Layer.Layer<AgentServerClient, never, UrlSafety> = Layer.scoped(
    AgentServerClient,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect: safety.connector({ timeout: 5_000 }), pipelining: 1 })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      const post = (
        to: CallAgent,
        body: RequestBody,
        trace: RequestTrace
      ): Effect.Effect<Uint8Array, ServerRequestFailed> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => request(agent, to, body, Math.floor(now / 1000), trace))

      return {
        callStarted: (to, body, onDone) =>
          traced(body.event, (trace) => within(callStartedMs, Effect.flatMap(post(to, body, trace), json)), onDone),
        toolCall: (to, body, onDone) =>
          traced(
            body.event,
            (trace) => Effect.flatMap(Effect.flatMap(post(to, body, trace), json), toolResult),
            onDone
          ),
        transcriptUpdated: (to, body, onDone) =>
          traced(body.event, (trace) => within(transcriptMs, Effect.asVoid(post(to, body, trace))), onDone)
      }
    })
  )
}

const within = <A>(ms: number, effect: Effect.Effect<A, ServerRequestFailed>): Effect.Effect<A, ServerRequestFailed> =>
  Effect.timeoutFail(effect, {
    duration: ms,
    onTimeout: () => new ServerRequestFailed({ reason: `no answer within ${ms / 1000} seconds` })
  })

/** The signatures of a request, with the agent's server secret. V1 covers the time, so that replays can be refused. */
const signatures = (secret: string, unixSeconds: number, body: string) => {
  const hmac = (text: string) => createHmac("sha256", secret).update(text).digest("hex")
  return {
    "x-svc-signature": `sha256=${hmac(body)}`,
    "x-svc-signature-v1": `t=${unixSeconds},v1=${hmac(`${unixSeconds}.${body}`)}`
  }
}

/** Returns the body of an answer with status 2xx. */
const request = (
  client: Agent,
  to: CallAgent,
  body: RequestBody,
  unixSeconds: number,
  trace: RequestTrace
): Effect.Effect<Uint8Array, ServerRequestFailed> =>
  Effect.async<Uint8Array, ServerRequestFailed>((resume) => {
    const fail = (reason: string) => resume(Effect.fail(new ServerRequestFailed({ reason })))
    const raw = JSON.stringify(body)
    trace.request = raw
    let url: URL
    try {
      url = new URL(to.server_url)
    } catch {
      fail("server_url is not a URL")
      return
    }
    let controller: Dispatcher.DispatchController | undefined
    let givenUp: Error | undefined
    const chunks: Array<Buffer> = []
    let size = 0
    let status = 0
    const maxKb = maxAnswerKb[body.event]
    client.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": "Svc-API/1.0",
          "x-call-id": body.call_id,
          "x-svc-event": body.event,
          "x-svc-timestamp": String(unixSeconds),
          ...signatures(to.server_secret, unixSeconds, raw)
        },
        body: raw
      },
      {
        onRequestStart: (c) => {
          controller = c
          // Given up while connecting.
          if (givenUp !== undefined) c.abort(givenUp)
        },
        onResponseStart: (_, code) => {
          status = code
          trace.status = code
        },
        onResponseData: (c, chunk) => {
          size += chunk.length
          if (size > maxKb * 1024) {
            fail(`the answer is over ${maxKb} KB`)
            c.abort(new Error("answer too large"))
          } else chunks.push(chunk)
        },
        onResponseEnd: () => {
          const bytes = Buffer.concat(chunks)
          trace.response = bytes.toString("utf8")
          if (status >= 200 && status < 300) resume(Effect.succeed(bytes))
          else fail(status >= 300 && status < 400 ? `redirects are not followed (${status})` : `status ${status}`)
        },
        onResponseError: (_, error) => fail(`the server could not be reached: ${error.message}`)
      }
    )
    return Effect.sync(() => {
      givenUp = new Error("given up")
      controller?.abort(givenUp)
    })
  })

const json = (answer: Uint8Array): Effect.Effect<unknown, ServerRequestFailed> =>
  Effect.mapError(
    readJson(answer, "lenient"),
    ({ excess }) =>
      new ServerRequestFailed({ reason: excess === undefined ? "the answer is not JSON" : `the answer ${excess}` })
  )

const toolResult = (answer: unknown): Effect.Effect<unknown, ServerRequestFailed> =>
  Effect.mapBoth(Schema.decodeUnknown(ToolCallAnswer)(answer, { exact: true }), {
    onFailure: () => new ServerRequestFailed({ reason: "the answer to tool.call has no result" }),
    onSuccess: ({ result }) => result
  })

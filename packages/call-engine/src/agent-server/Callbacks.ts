import { createHmac } from "node:crypto"
import type { CallAgent } from "@svc/agents/Agents"
import {
  type CallStartedRequest,
  ToolCallAnswer,
  type ToolCallRequest,
  type TranscriptUpdatedRequest
} from "@svc/api/callbacks/CallStarted"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Clock, Context, Data, Effect, Layer, Schema } from "effect"
import { Agent, type Dispatcher } from "undici"
import { type CallbackExchange, type ExchangeTrace, traced } from "./CallbackExchange.ts"

/** The agent's server did not give a usable answer; `reason` is one plain sentence. */
export class CallbackFailed extends Data.TaggedError("CallbackFailed")<{ readonly reason: string }> {}

type CallbackBody = CallStartedRequest | ToolCallRequest | TranscriptUpdatedRequest

/** Longest wait for the answer to `call.started` (spec 6.6). */
export const callStartedMs = 5_000
const transcriptMs = 5_000
/** Longest answer that is read. */
const maxAnswerBytes = 1024 * 1024

/** Is told of every exchange when it is over. */
type Tell = (exchange: CallbackExchange) => void

/** Requests to an agent's `server_url` (spec 6.6), signed with the agent's own secret (decisions §3.2). */
export class Callbacks extends Context.Tag("@svc/call-engine/Callbacks")<
  Callbacks,
  {
    /** The decoded JSON of the answer, not yet checked. */
    readonly callStarted: (
      agent: CallAgent,
      body: CallStartedRequest,
      tell?: Tell
    ) => Effect.Effect<unknown, CallbackFailed>
    /** The tool's result. The caller keeps the time. */
    readonly toolCall: (agent: CallAgent, body: ToolCallRequest, tell?: Tell) => Effect.Effect<unknown, CallbackFailed>
    readonly transcriptUpdated: (
      agent: CallAgent,
      body: TranscriptUpdatedRequest,
      tell?: Tell
    ) => Effect.Effect<void, CallbackFailed>
  }
>() {
  static readonly layer: Layer.Layer<Callbacks, never, UrlSafety> = Layer.scoped(
    Callbacks,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect: safety.connector({ timeout: 5_000 }), pipelining: 1 })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      const post = (to: CallAgent, body: CallbackBody, trace: ExchangeTrace): Effect.Effect<string, CallbackFailed> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => exchange(agent, to, body, Math.floor(now / 1000), trace))

      return {
        callStarted: (to, body, tell) =>
          traced(body.event, (trace) => within(callStartedMs, Effect.flatMap(post(to, body, trace), json)), tell),
        toolCall: (to, body, tell) =>
          traced(body.event, (trace) => Effect.flatMap(Effect.flatMap(post(to, body, trace), json), toolResult), tell),
        transcriptUpdated: (to, body, tell) =>
          traced(body.event, (trace) => within(transcriptMs, Effect.asVoid(post(to, body, trace))), tell)
      }
    })
  )
}

const within = <A>(ms: number, effect: Effect.Effect<A, CallbackFailed>): Effect.Effect<A, CallbackFailed> =>
  Effect.timeoutFail(effect, {
    duration: ms,
    onTimeout: () => new CallbackFailed({ reason: `no answer within ${ms / 1000} seconds` })
  })

/** `X-Svc-Signature`: over the raw body, with the agent's server secret. */
const signature = (secret: string, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`

const exchange = (
  client: Agent,
  to: CallAgent,
  body: CallbackBody,
  unixSeconds: number,
  trace: ExchangeTrace
): Effect.Effect<string, CallbackFailed> =>
  Effect.async<string, CallbackFailed>((resume) => {
    const fail = (reason: string) => resume(Effect.fail(new CallbackFailed({ reason })))
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
    let unwanted: Error | undefined
    const chunks: Array<Buffer> = []
    let size = 0
    let status = 0
    const read = () => {
      trace.response = Buffer.concat(chunks).toString("utf8")
      return trace.response
    }
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
          "x-svc-signature": signature(to.server_secret, raw)
        },
        body: raw
      },
      {
        onRequestStart: (c) => {
          controller = c
          // It was given up while the connection was being made.
          if (unwanted !== undefined) c.abort(unwanted)
        },
        onResponseStart: (_, code) => {
          status = code
          trace.status = code
        },
        onResponseData: (c, chunk) => {
          size += chunk.length
          if (size > maxAnswerBytes) {
            fail("the answer is over 1 MB")
            c.abort(new Error("answer too large"))
          } else chunks.push(chunk)
        },
        onResponseEnd: () => {
          const text = read()
          if (status >= 200 && status < 300) resume(Effect.succeed(text))
          else fail(status >= 300 && status < 400 ? `redirects are not followed (${status})` : `status ${status}`)
        },
        onResponseError: (_, error) => fail(`the server could not be reached: ${error.message}`)
      }
    )
    return Effect.sync(() => {
      unwanted = new Error("not wanted any more")
      controller?.abort(unwanted)
    })
  })

const json = (answer: string): Effect.Effect<unknown, CallbackFailed> =>
  Effect.try({
    try: (): unknown => JSON.parse(answer),
    catch: () => new CallbackFailed({ reason: "the answer is not JSON" })
  })

const toolResult = (answer: unknown): Effect.Effect<unknown, CallbackFailed> =>
  Effect.mapBoth(Schema.decodeUnknown(ToolCallAnswer)(answer, { exact: true }), {
    onFailure: () => new CallbackFailed({ reason: "the answer to tool.call has no result" }),
    onSuccess: ({ result }) => result
  })

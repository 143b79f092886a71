import { createHmac } from "node:crypto"
import type { CallAgent } from "@svc/agents/Agents"
import {
  type CallStartedRequest,
  ToolCallAnswer,
  type ToolCallRequest,
  type TranscriptUpdatedRequest
} from "@svc/api/callbacks/CallStarted"
import { readJson } from "@svc/api/JsonLimits"
import { fieldNames, inWords, isRecord } from "@svc/conversation/answers/FieldReader"
import type { FaultCause } from "@svc/conversation/answers/ServerFault"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { type ConnectionCause, connectionFault } from "@svc/urls/ConnectionFault"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Data, Effect, Exit, Layer, Schema } from "effect"
import { Agent, type Dispatcher } from "undici"
import { jsonFault } from "./JsonFault.ts"
import { type RequestTrace, type ServerRequest, traced } from "./ServerRequest.ts"

/**
 * The agent's server did not give a usable answer; `reason` is one plain sentence, and `detail` more about it, which the
 * model must not see.
 */
export class ServerRequestFailed extends Data.TaggedError("ServerRequestFailed")<{
  readonly reason: string
  readonly cause: FaultCause
  readonly detail?: string
}> {}

type RequestBody = CallStartedRequest | ToolCallRequest | TranscriptUpdatedRequest

/** Longest wait for the answer to `call.started`, in milliseconds. */
export const callStartedMs = 5_000
/** The same for `transcript.updated`. */
export const transcriptMs = 5_000
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
      const startedLimit = yield* SharedTimeout.make(callStartedMs)
      const transcriptLimit = yield* SharedTimeout.make(transcriptMs)

      return {
        callStarted: (to, body, onDone) =>
          traced(
            body.event,
            (trace) => Effect.flatMap(request(agent, to, body, trace, startedLimit), (answer) => json(answer, trace)),
            onDone
          ),
        toolCall: (to, body, onDone) =>
          traced(
            body.event,
            (trace) =>
              Effect.flatMap(
                Effect.flatMap(request(agent, to, body, trace), (answer) => json(answer, trace)),
                toolResult
              ),
            onDone
          ),
        transcriptUpdated: (to, body, onDone) =>
          traced(body.event, (trace) => Effect.asVoid(request(agent, to, body, trace, transcriptLimit)), onDone)
      }
    })
  )
}

/** The signatures of a request, with the agent's server secret. V1 covers the time, so that replays can be refused. */
const signatures = (secret: string, unixSeconds: number, body: string) => {
  const hmac = (text: string) => createHmac("sha256", secret).update(text).digest("hex")
  return {
    "x-svc-signature": `sha256=${hmac(body)}`,
    "x-svc-signature-v1": `t=${unixSeconds},v1=${hmac(`${unixSeconds}.${body}`)}`
  }
}

/** Returns the body of an answer with status 2xx. `limit`: of the wait for the whole answer. */
const request = (
  client: Agent,
  to: CallAgent,
  body: RequestBody,
  trace: RequestTrace,
  limit?: SharedTimeout.SharedTimeout
): Effect.Effect<Uint8Array, ServerRequestFailed> =>
  Effect.async<Uint8Array, ServerRequestFailed>((resume) => {
    let stopWatching = () => {}
    const settle = (outcome: Exit.Exit<Uint8Array, ServerRequestFailed>) => {
      stopWatching()
      resume(outcome)
    }
    const fail = (cause: FaultCause, reason: string) => settle(Exit.fail(new ServerRequestFailed({ cause, reason })))
    const unixSeconds = Math.floor(trace.started_at / 1000)
    const raw = JSON.stringify(body)
    trace.request = raw
    let url: URL
    try {
      url = new URL(to.server_url)
    } catch {
      fail("url", "server_url is not a URL")
      return
    }
    let controller: Dispatcher.DispatchController | undefined
    let givenUp: Error | undefined
    const chunks: Array<Buffer> = []
    let size = 0
    let status = 0
    const maxKb = maxAnswerKb[body.event]
    const giveUp = () => {
      givenUp = new Error("given up")
      controller?.abort(givenUp)
    }
    if (limit !== undefined) {
      const from = limit.now()
      stopWatching = limit.watch(
        () => from,
        () => {
          fail("timeout", `no answer within ${limit.ms / 1000} seconds`)
          giveUp()
        }
      )
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
        onResponseStart: (_, code, headers) => {
          status = code
          trace.status = code
          trace.content_type = mediaType(headers["content-type"])
        },
        onResponseData: (c, chunk) => {
          size += chunk.length
          if (size > maxKb * 1024) {
            fail("too-large", `the answer is over ${maxKb} KB`)
            c.abort(new Error("answer too large"))
          } else chunks.push(chunk)
        },
        onResponseEnd: () => {
          const bytes = Buffer.concat(chunks)
          trace.response = bytes.toString("utf8")
          if (status >= 200 && status < 300) settle(Exit.succeed(bytes))
          else if (status >= 300 && status < 400) fail("redirect", `redirects are not followed (${status})`)
          else fail(causeOfStatus(status), `status ${status}`)
        },
        onResponseError: (_, error) => {
          const { cause, what } = connectionFault(error)
          fail(faultCauses[cause], `server_url could not be reached: ${what}`)
        }
      }
    )
    return Effect.sync(() => {
      stopWatching()
      giveUp()
    })
  })

/** The cause decides the hint, which takes the place of the fault's advice. */
const faultCauses: { readonly [cause in ConnectionCause]: FaultCause } = {
  blocked: "blocked",
  dns: "dns",
  refused: "refused",
  unreachable: "unreachable",
  tls: "tls",
  "not-http": "not-http",
  closed: "closed",
  timeout: "timeout",
  "invalid-http": "not-http",
  svc: "svc"
}

const causeOfStatus = (status: number): FaultCause => {
  if (status >= 500) return "server-error"
  if (status === 404 || status === 410) return "not-found"
  if (status === 405) return "method"
  return status === 401 || status === 403 || status === 407 ? "unauthorized" : "client-error"
}

/** The type of a body, without its parameters; null without a valid one. */
const mediaType = (header: string | ReadonlyArray<string> | undefined): string | null => {
  const [type] = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(typeof header === "string" ? header : "") ?? []
  return type?.toLowerCase() ?? null
}

const json = (answer: Uint8Array, trace: RequestTrace): Effect.Effect<unknown, ServerRequestFailed> =>
  Effect.mapError(readJson(answer, "lenient"), ({ excess }) => {
    if (excess !== undefined) return new ServerRequestFailed({ cause: "limits", reason: `the answer ${excess}` })
    const text = trace.response ?? ""
    const reason = "the answer is not JSON"
    if (text.trim() === "") return new ServerRequestFailed({ cause: "empty", reason, detail: "it is empty" })
    const { column, line, near } = jsonFault(text)
    const isPage = trace.content_type === "text/html" || /^\s*<(?:!doctype|html)/i.test(text)
    return new ServerRequestFailed({
      cause: isPage ? "html" : "json",
      reason,
      detail: `at line ${line}, column ${column}, near ${JSON.stringify(near)}`
    })
  })

const toolResult = (answer: unknown): Effect.Effect<unknown, ServerRequestFailed> =>
  Effect.mapBoth(Schema.decodeUnknown(ToolCallAnswer)(answer, { exact: true }), {
    onFailure: () =>
      new ServerRequestFailed({
        cause: "fields",
        reason: "the answer to tool.call has no result",
        detail: isRecord(answer) ? fieldNames(answer) : `it is ${inWords(answer)}`
      }),
    onSuccess: ({ result }) => result
  })

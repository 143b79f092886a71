import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { getJson } from "@svc/providers/JsonRequest"
import { makeFailures, type RequestFailed, type RequestFailures } from "@svc/providers/RequestFailed"
import * as ServerHealth from "@svc/providers/ServerHealth"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Effect, Redacted, Schema, type Scope } from "effect"

/** Deepgram's server, or one of your own that speaks its protocol. */
export interface DeepgramServer {
  /** Without a path. */
  readonly origin: string
  readonly host: Host
  readonly failures: RequestFailures
  readonly health: Effect.Effect<Health>
  /** The JSON at a path. */
  readonly get: (path: string) => Effect.Effect<unknown, RequestFailed>
  readonly connect: (
    path: string,
    query: URLSearchParams,
    options: Pick<WebSocketClient.SocketOptions, "onMessage" | "onClosed" | "keepAlive">
  ) => Effect.Effect<WebSocketClient.ClientSocket, RequestFailed, Scope.Scope>
}

/** Opens no connection but that which checks the key. */
export const make = (options: {
  readonly origin: string
  readonly apiKey: Redacted.Redacted
  readonly host: Host
}): Effect.Effect<DeepgramServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { apiKey, host, origin } = options
    const failures = makeFailures({ server: origin, key: apiKey, keySetting: "SVC_DEEPGRAM_API_KEY", log: host.log })
    const headers = { authorization: `Token ${Redacted.value(apiKey)}` }
    const get: DeepgramServer["get"] = (path) => getJson({ url: `${origin}${path}`, headers, failures })
    // Answers with details of the key, and costs nothing (developers.deepgram.com/docs/authenticating).
    const { health } = yield* ServerHealth.make({
      request: get("/v1/auth/token"),
      failures,
      host,
      noAnswer: `${origin} does not answer`
    })
    const waits = host.metrics.counter("rate_limit_waits", {
      description: "Connections that were opened again after the time that the server asked for"
    })
    const lost = host.metrics.counter("connections_lost", { description: "Connections that the server closed in use" })
    return {
      origin,
      host,
      failures,
      health,
      get,
      connect: (path, query, { onClosed, ...more }) =>
        WebSocketClient.open({
          ...more,
          url: `${origin}${path}?${query}`,
          headers,
          failures,
          onRetryWait: () => waits.add(),
          onClosed: (closed) => {
            if (closed.code !== 1000) lost.add()
            onClosed(closed)
          }
        })
    }
  })

const Typed = Schema.parseJson(Schema.Struct({ type: Schema.String }, { key: Schema.String, value: Schema.Unknown }))
const decodeTyped = Schema.decodeUnknownSync(Typed)

/** A message of the server: all have a type. Throws for bytes and for anything else. */
export const messageOf = (message: string | Uint8Array): typeof Typed.Type => {
  if (typeof message !== "string") throw new TypeError("bytes where a message was expected")
  try {
    return decodeTyped(message)
  } catch {
    throw new TypeError("no JSON with a type")
  }
}

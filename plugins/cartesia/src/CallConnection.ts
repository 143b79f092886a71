import * as ContextRoutes from "@svc/providers/ContextRoutes"
import { RequestFailed } from "@svc/providers/RequestFailed"
import type { VendorServer } from "@svc/providers/VendorServer"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Effect, type Scope } from "effect"
import { headersOf } from "./CartesiaVoices.ts"
import * as Message from "./SpeechMessage.ts"

/** An open WebSocket. All methods are synchronous and do not throw. */
export interface CallConnection {
  /** A new context and its id. The vendor learns of it with the first input. */
  readonly begin: (listener: ContextRoutes.ContextListener<Message.ServerMessage>) => string
  readonly send: (message: string) => void
  /** Nothing of a context is passed on any more. */
  readonly forget: (id: string) => void
}

/** Opens a connection. The vendor closes it after five minutes without a message. */
export const open = (
  server: VendorServer,
  callId: string,
  on: {
    /** It takes no more contexts. */
    readonly retire: () => void
    /** The vendor asks to wait before it is asked again. */
    readonly retryWait: () => void
  }
): Effect.Effect<CallConnection, RequestFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, origin } = server
    const clock = yield* Effect.clock
    const routes = ContextRoutes.make<Message.ServerMessage>({ end: on.retire })
    let socket: WebSocketClient.ClientSocket | undefined
    let begun = 0

    const failureOf = (status: number, text: string): RequestFailed => {
      const now = clock.unsafeCurrentTimeMillis()
      const failure = failures.ofStatus({ status, headers: {}, body: text, now })
      // Credits that are used up are not the fault of one request.
      return status === 402 ? new RequestFailed({ reason: failure.reason, retryable: true, status }) : failure
    }
    const onMessage = (data: string | Uint8Array): void => {
      const message = typeof data === "string" ? Message.read(data) : undefined
      if (message === undefined) {
        socket?.fail(`${origin} sent something that is no message of its protocol`)
        return
      }
      const { _tag, contextId } = message
      if (_tag === "Error") {
        const failure = failureOf(message.status, message.text)
        if (contextId !== undefined) routes.finish(contextId, failure)
        else {
          routes.end(failure, false)
          socket?.fail(failure.reason)
        }
        return
      }
      // Messages of contexts that were cancelled still come.
      if (contextId === undefined) return
      routes.pass(contextId, message, _tag === "Chunk")
      if (_tag === "Done") routes.finish(contextId)
    }
    socket = yield* WebSocketClient.open({
      url: new URL("/tts/websocket", origin),
      headers: headersOf(server),
      failures,
      onMessage,
      onClosed: ({ failure }) => routes.end(failure, true),
      onRetryWait: on.retryWait
    })
    return {
      begin: (listener) => {
        const id = `${callId}-${++begun}`
        routes.add(id, listener)
        return id
      },
      send: socket.send,
      forget: (id) => {
        routes.mute(id)
        routes.finish(id)
      }
    }
  })

import type { IncomingMessage } from "node:http"
import { Duration, Effect, type Scope } from "effect"
import { type RawData, WebSocket } from "ws"
import { monotonicMillis } from "./MonotonicTime.ts"
import { obeyRetryAfter, RequestFailed, type RequestFailures } from "./RequestFailed.ts"

/** How a connection ended that the plugin did not close. */
export interface SocketClosed {
  /** Of the server's close frame (RFC 6455, 7.4): 1000 is a normal end. 1006: there was none. */
  readonly code: number
  /** For the typed error of the capability: it says what happened, also after a normal end. */
  readonly failure: RequestFailed
}

export interface SocketOptions {
  /** `wss:`, `ws:`, `https:` or `http:`, with its query. */
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: ReadonlyArray<string>
  /** Makes the errors; knows the key. */
  readonly failures: RequestFailures
  /** How long opening may take, with all attempts after `Retry-After`. 4 s by default: less than the engine waits. */
  readonly deadline?: Duration.DurationInput
  /**
   * A message of text or bytes, valid only during the call, also before `open` has returned. Synchronous; what it throws
   * fails the connection.
   */
  readonly onMessage: (message: string | Uint8Array) => void
  /** The server closed the connection, or it failed: once, as the last callback. Not called when the scope was closed. */
  readonly onClosed: (closed: SocketClosed) => void
  /** `message` is sent when nothing else was sent for `idleMs` milliseconds; undefined sends nothing this time. */
  readonly keepAlive?: { readonly idleMs: number; readonly message: () => string | Uint8Array | undefined }
  /** A server that answers no ping for this time counts as gone. 10,000 by default. In milliseconds. */
  readonly pingMs?: number
  /** Bytes that may wait to be sent. More than that fails the connection. 1 MiB by default. */
  readonly mostWaiting?: number
  /** Called before each wait for `Retry-After`. */
  readonly onRetryWait?: () => void
}

/** An open connection. Closing its scope closes it at once, and no callback is called after that. */
export interface ClientSocket {
  /** The headers of the server's answer to the handshake. */
  readonly headers: IncomingMessage["headers"]
  /** Sends a message; after the end of the connection it does nothing. Synchronous; does not throw. */
  readonly send: (message: string | Uint8Array) => void
  /** Bytes that wait to be sent. */
  readonly waiting: () => number
  /** Stops to read, so that the server has to wait. `onMessage` may be called a few times more. */
  readonly pause: () => void
  readonly resume: () => void
  /** Ends the connection with a reason of the plugin, such as a message that it cannot read; calls `onClosed`. */
  readonly fail: (reason: string) => void
}

const defaultDeadline = Duration.seconds(4)
const defaultPingMs = 10_000
/** The time that a server has to answer a close frame, in ms. */
const closeMs = 250
const defaultMostWaiting = 1024 * 1024
/** Bytes of a message that the server may send. */
const largestMessage = 16 * 1024 * 1024
/** Characters of the body of a refusal that are read. */
const longestRefusal = 65_536

const toMessage = (data: RawData, isBinary: boolean): string | Uint8Array => {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
  return isBinary ? bytes : bytes.toString("utf8")
}

const withoutQuery = ({ origin, pathname }: URL) => `${origin}${pathname}`

/** Opens a connection once; the body of a refusal is read for its explanation. */
const handshake = (
  socket: WebSocket,
  { failures }: SocketOptions,
  wallNow: () => number
): Effect.Effect<IncomingMessage["headers"], RequestFailed> =>
  Effect.async((resume) => {
    let headers: IncomingMessage["headers"] = {}
    socket.once("upgrade", (response) => {
      headers = response.headers
    })
    socket.once("open", () => resume(Effect.succeed(headers)))
    socket.once("error", (error) => resume(failures.ofConnection(error)))
    socket.once("unexpected-response", (request, response) => {
      const status = response.statusCode ?? 0
      let body = ""
      const refused = () => {
        resume(failures.ofStatus({ status, headers: response.headers, body, now: wallNow() }))
        request.destroy()
      }
      response.setEncoding("utf8")
      response.on("data", (text: string) => {
        body = (body + text).slice(0, longestRefusal)
      })
      response.once("end", refused)
      response.once("error", refused)
      response.once("aborted", refused)
    })
  })

/**
 * Opens a WebSocket to a vendor's server. Fails with `RequestFailed` when the server refuses (401 and 403 with the setting
 * of the key, 429 and 5xx as retryable), does not answer in time, or cannot be reached. `Retry-After` is obeyed when it
 * fits the deadline.
 */
export const open = (options: SocketOptions): Effect.Effect<ClientSocket, RequestFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, keepAlive, onClosed, onMessage } = options
    const clock = yield* Effect.clock
    const now = () => monotonicMillis(clock)
    const url = new URL(options.url)
    url.protocol = url.protocol.replace("http", "ws")
    const deadline = Duration.decode(options.deadline ?? defaultDeadline)
    const mostWaiting = options.mostWaiting ?? defaultMostWaiting
    const name = withoutQuery(url)

    let isLive = true
    let current: WebSocket | undefined
    let lastSent = now()
    let isAnswered = true
    let failure: RequestFailed | undefined
    /** What came before `open` was done. */
    let early: Array<string | Uint8Array> | undefined = []
    let closedEarly: readonly [code: number, said: string] | undefined

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isLive = false
        // Not ended at once: the system resets a connection that ends with data unread, and the server loses the close frame.
        if (current?.readyState === WebSocket.OPEN) current.close(1000)
        else current?.terminate()
      })
    )
    const connect = (): WebSocket => {
      // The types lack `closeTimeout`.
      const settings = {
        headers: { ...options.headers },
        perMessageDeflate: false,
        maxPayload: largestMessage,
        followRedirects: false,
        closeTimeout: closeMs
      }
      const socket = new WebSocket(url, [...(options.protocols ?? [])], settings)
      // Without a listener an error would end the process; "close" follows each of them.
      socket.on("error", (error) => {
        if (socket === current) failure ??= failures.ofConnection(error)
      })
      socket.on("message", (data, isBinary) => receive(toMessage(data, isBinary)))
      socket.on("close", (code, said) => {
        if (socket === current) ended(code, said.toString("utf8"))
      })
      return socket
    }
    const attempt = Effect.suspend(() => {
      failure = undefined
      closedEarly = undefined
      const socket = connect()
      current = socket
      return handshake(socket, options, () => clock.unsafeCurrentTimeMillis()).pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            current = undefined
            socket.terminate()
          })
        ),
        Effect.map((headers) => ({ headers, socket }))
      )
    })

    const receive = (message: string | Uint8Array): void => {
      if (!isLive) return
      isAnswered = true
      if (early !== undefined) {
        early.push(typeof message === "string" ? message : message.slice())
        return
      }
      try {
        onMessage(message)
      } catch (defect) {
        fail(`the plugin failed to read a message of ${name}: ${failures.shown(String(defect))}`)
      }
    }

    const ended = (code: number, said: string): void => {
      if (!isLive) return
      if (early !== undefined) {
        closedEarly = [code, said]
        return
      }
      isLive = false
      const explained = said === "" ? "" : `: ${failures.shown(said)}`
      const how = code === 1006 ? "without a reason" : `with code ${code}${explained}`
      onClosed({
        code,
        failure: failure ?? new RequestFailed({ reason: `${name} closed the connection ${how}`, retryable: true })
      })
    }
    const fail = (reason: string): void => {
      if (!isLive) return
      failure ??= new RequestFailed({ reason, retryable: true })
      current?.terminate()
      ended(1006, "")
    }

    const { headers, socket } = yield* attempt.pipe(
      obeyRetryAfter(deadline, options.onRetryWait),
      Effect.timeoutFail({
        duration: deadline,
        onTimeout: () =>
          new RequestFailed({ reason: `${name} did not answer within ${Duration.format(deadline)}`, retryable: true })
      })
    )
    failures.accepted()

    socket.on("pong", () => {
      isAnswered = true
    })
    const send = (message: string | Uint8Array): void => {
      lastSent = now()
      if (!isLive || socket.readyState !== WebSocket.OPEN) return
      socket.send(message)
      if (socket.bufferedAmount > mostWaiting) fail(`${name} takes no data: ${mostWaiting} bytes wait to be sent`)
    }

    const whileLive = { while: () => isLive }
    if (keepAlive !== undefined) {
      const { idleMs, message } = keepAlive
      const wait = Effect.suspend(() =>
        Effect.sleep(Duration.millis(Math.max(1, Math.ceil(lastSent + idleMs - now()))))
      )
      const sendIfIdle = Effect.sync(() => {
        if (now() - lastSent < idleMs) return
        const due = message()
        if (due === undefined) lastSent = now()
        else send(due)
      })
      yield* Effect.forkScoped(Effect.repeat(Effect.zipRight(wait, sendIfIdle), whileLive))
    }
    const pingMs = options.pingMs ?? defaultPingMs
    let isPaused = false
    const ping = Effect.sync(() => {
      // A paused socket does not read the answer.
      if (!isPaused && !isAnswered) return fail(`${name} did not answer a ping within ${pingMs} ms`)
      isAnswered = isPaused
      if (isLive && socket.readyState === WebSocket.OPEN) socket.ping()
    })
    yield* Effect.forkScoped(Effect.repeat(Effect.delay(ping, Duration.millis(pingMs)), whileLive))

    const received = early
    early = undefined
    for (const message of received) receive(message)
    if (closedEarly !== undefined) ended(...closedEarly)
    return {
      headers,
      send,
      waiting: () => socket.bufferedAmount,
      pause: () => {
        isPaused = true
        socket.pause()
      },
      resume: () => {
        isPaused = false
        isAnswered = true
        socket.resume()
      },
      fail
    }
  })

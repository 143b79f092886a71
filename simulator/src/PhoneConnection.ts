import { Deferred, Duration, Effect, type Queue, Schedule, type Scope, SubscriptionRef } from "effect"
import { WebSocket } from "ws"
import { PhoneEvent, readFrame } from "./PhoneEvent.ts"

/** How long one attempt to connect may take. */
export const connectTimeout = Duration.seconds(5)
/** The interval of pings. A ping that is not answered within it ends the connection. */
const pingEvery = Duration.seconds(5)

/** Milliseconds before attempt `n` (from 1): 250, doubled each time up to 5000. */
export const retryDelay = (attempt: number): number => Math.min(5_000, 250 * 2 ** Math.min(10, attempt - 1))

/** A WebSocket to the network. */
export interface PhoneConnection {
  readonly socket: WebSocket
  /** Whether it has carried a call. */
  used: boolean
  /** Completed in order to replace it with a new connection. */
  readonly replace: Deferred.Deferred<void>
}

/** Connects, and reconnects whenever the connection is lost or `replace` is completed. */
export const keepConnected = (
  url: string,
  current: SubscriptionRef.SubscriptionRef<PhoneConnection | null>,
  events: Queue.Queue<PhoneEvent>
): Effect.Effect<never> =>
  Effect.gen(function* () {
    let failures = 0
    let isReplacement = false
    while (true) {
      if (!isReplacement) yield* events.offer(PhoneEvent.Connecting({ attempt: failures + 1 }))
      const lost = yield* Effect.scoped(
        Effect.gen(function* () {
          const socket = yield* openSocket(url, events)
          failures = 0
          const replace = yield* Deferred.make<void>()
          yield* Effect.addFinalizer(() => SubscriptionRef.set(current, null))
          yield* SubscriptionRef.set(current, { socket, used: false, replace })
          if (!isReplacement) yield* events.offer(PhoneEvent.Connected())
          return yield* Effect.raceAll([
            awaitClose(socket),
            awaitPingTimeout(socket),
            Deferred.await(replace).pipe(Effect.as(null))
          ])
        }).pipe(Effect.merge)
      )
      isReplacement = lost === null
      if (lost === null) continue
      failures += 1
      const retry_ms = retryDelay(failures)
      yield* events.offer(PhoneEvent.Disconnected({ reason: lost, retry_ms }))
      yield* Effect.sleep(Duration.millis(retry_ms))
    }
  })

/** Opens a socket that closes with the scope. Fails with a readable reason. */
export const openSocket = (
  url: string,
  events: Queue.Queue<PhoneEvent>
): Effect.Effect<WebSocket, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = new WebSocket(url, {
        handshakeTimeout: Duration.toMillis(connectTimeout),
        perMessageDeflate: false
      })
      // An error without a listener would end the process. The reason is handled below.
      socket.on("error", () => {})
      socket.on("message", (data) => events.unsafeOffer(readFrame(data.toString())))
      return socket
    }),
    (socket) =>
      Effect.sync(() => {
        socket.removeAllListeners("message")
        // The closing handshake signals the hangup to the network at once.
        if (socket.readyState === WebSocket.OPEN) socket.close()
        else socket.terminate()
      })
  ).pipe(
    Effect.tap((socket) =>
      Effect.async<void, string>((resume) => {
        socket.once("open", () => resume(Effect.void))
        socket.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(connectionError(error, url))))
        socket.once("close", () => resume(Effect.fail("the connection was closed")))
      })
    )
  )

/** Completes with a readable reason when the socket closes. */
const awaitClose = (socket: WebSocket): Effect.Effect<string> =>
  Effect.async((resume) => {
    const done = (code: number, reason: Buffer) =>
      resume(Effect.succeed(reason.length > 0 ? reason.toString() : (closeReasons[code] ?? `closed with code ${code}`)))
    socket.once("close", done)
    return Effect.sync(() => socket.off("close", done))
  })

/** Completes when a ping was not answered: the peer hangs, or the network is broken. */
const awaitPingTimeout = (socket: WebSocket): Effect.Effect<string> =>
  Effect.gen(function* () {
    let answered = true
    socket.on("pong", () => {
      answered = true
    })
    yield* Effect.sync(() => {
      if (!answered) return false
      answered = false
      socket.ping()
      return true
    }).pipe(Effect.repeat({ while: (alive) => alive, schedule: Schedule.spaced(pingEvery) }))
    return yield* Effect.sync(() => {
      socket.terminate()
      return "the server does not answer"
    })
  })

const closeReasons: Readonly<Record<number, string>> = {
  1000: "the server closed the connection",
  1001: "the server is shutting down",
  1005: "the server closed the connection",
  1006: "the connection was lost",
  1011: "the server had an error"
}

/** A readable connection error. `ECONNREFUSED` and the like come in an AggregateError without a message. */
const connectionError = (error: NodeJS.ErrnoException, url: string): string => {
  const { host, hostname } = new URL(url)
  if (error.code === "ECONNREFUSED") return `nothing answers at ${host}: start it, or set SVC_URL`
  if (error.code === "ENOTFOUND") return `the host ${hostname} is unknown: set SVC_URL`
  if (error.code === "ECONNRESET") return "the connection was reset"
  if (error.message.startsWith("Unexpected server response")) {
    return `what answers at ${host} is not Svc with the simulated network (${error.message.toLowerCase()}): set SVC_URL`
  }
  return error.message === "" ? (error.code ?? "unknown error") : error.message
}

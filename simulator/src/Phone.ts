import { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"
import {
  Context,
  Data,
  Deferred,
  Duration,
  Effect,
  Either,
  Layer,
  Option,
  Queue,
  Schedule,
  Schema,
  Scope,
  Stream,
  SubscriptionRef
} from "effect"
import { WebSocket } from "ws"
import { networkUrl, ServerAddress } from "./ServerAddress.ts"

/** What happens to a phone: its line to the network, and the network's messages. */
export type PhoneEvent = Data.TaggedEnum<{
  Connecting: { readonly attempt: number }
  Connected: {}
  /** The line is down; the next attempt starts after `retry_ms`. */
  Away: { readonly reason: string; readonly retry_ms: number }
  Received: { readonly message: ServerMessage }
  /** The network sent something that is not one of its messages. */
  Garbled: { readonly raw: string; readonly reason: string }
}>
export const PhoneEvent = Data.taggedEnum<PhoneEvent>()

/** There is no line to the network right now. */
export class NotConnected extends Data.TaggedError("NotConnected")<{ readonly action: string }> {
  override get message(): string {
    return `cannot ${this.action}: the server is away`
  }
}

type MessageOf<E extends ClientMessage["event"]> = Omit<Extract<ClientMessage, { readonly event: E }>, "event">

/** How long one attempt to connect may take, how long a line may be silent before it counts as dead. */
const connectTimeout = Duration.seconds(5)
const pingEvery = Duration.seconds(5)

/** Wait before attempt `n` (from 1): a quarter of a second, doubled each time up to five seconds. */
export const retryDelay = (attempt: number): number => Math.min(5_000, 250 * 2 ** Math.min(10, attempt - 1))

/** One phone on the simulated network, over one WebSocket that is opened again whenever it is lost. */
export class Phone extends Context.Tag("@svc/simulator/Phone")<
  Phone,
  {
    readonly dial: (call: MessageOf<"dial">) => Effect.Effect<void, NotConnected>
    /** The network speaks the text as the caller's voice. */
    readonly say: (text: string) => Effect.Effect<void, NotConnected>
    /** `digits` of `0-9*#`. */
    readonly dtmf: (digits: string) => Effect.Effect<void, NotConnected>
    readonly hangup: Effect.Effect<void, NotConnected>
    /** Calls to the number come to this phone, which answers them. */
    readonly receive: (number: string) => Effect.Effect<void, NotConnected>
    /** A phone of its own gets the number, until this one is gone. */
    readonly register: (
      other: Omit<MessageOf<"register">, "numbers"> & { readonly number: string }
    ) => Effect.Effect<void, NotConnected>
    /** Everything that happens, in order. For one reader. */
    readonly events: Stream.Stream<PhoneEvent>
  }
>() {
  static readonly layer: Layer.Layer<Phone, never, ServerAddress> = Layer.scoped(
    Phone,
    Effect.gen(function* () {
      const address = yield* ServerAddress
      const events = yield* Queue.unbounded<PhoneEvent>()
      const current = yield* SubscriptionRef.make<Line | null>(null)

      yield* keepConnected(networkUrl(address.url), current, events).pipe(Effect.forkScoped)

      const send = (line: Line | null, action: string, message: ClientMessage) =>
        Effect.gen(function* () {
          if (line === null || line.socket.readyState !== WebSocket.OPEN) return yield* new NotConnected({ action })
          const text = yield* encode(message)
          yield* Effect.sync(() => line.socket.send(text))
        })
      const sendOn = (action: string, message: ClientMessage) =>
        Effect.flatMap(SubscriptionRef.get(current), (line) => send(line, action, message))

      /** A line that has carried no call yet: one call a socket, so that nothing late of a call gets into the next. */
      const freshLine = Effect.gen(function* () {
        const line = yield* SubscriptionRef.get(current)
        if (line === null || !line.used) return line
        yield* Deferred.succeed(line.renew, undefined)
        return yield* current.changes.pipe(
          Stream.filter((next) => next !== null && !next.used),
          Stream.runHead,
          Effect.timeoutOption(connectTimeout),
          Effect.map(Option.flatten),
          Effect.map(Option.getOrNull)
        )
      })

      const scope = yield* Effect.scope

      return {
        receive: Effect.fn("Phone.receive")(function* (number) {
          const line = yield* freshLine
          yield* send(line, "register", { event: "register", numbers: [number], behaviour: "answer" })
          if (line !== null) line.used = true
        }),
        register: Effect.fn("Phone.register")(function* ({ number, ...other }) {
          const lost = () => new NotConnected({ action: "register" })
          const unheard = yield* Queue.dropping<PhoneEvent>(100)
          const socket = yield* Effect.mapError(Scope.extend(open(networkUrl(address.url), unheard), scope), lost)
          const text = yield* encode({ event: "register", numbers: [number], ...other })
          socket.send(text)
          yield* Effect.mapError(Effect.timeout(Queue.take(unheard), connectTimeout), lost)
        }),
        dial: Effect.fn("Phone.dial")(function* (call) {
          const line = yield* freshLine
          yield* send(line, "dial", { event: "dial", ...call })
          if (line !== null) line.used = true
        }),
        say: Effect.fn("Phone.say")((text) => sendOn("speak", { event: "say", text })),
        dtmf: Effect.fn("Phone.dtmf")((digits) => sendOn("send digits", { event: "dtmf", digits })),
        hangup: sendOn("hang up", { event: "hangup" }),
        events: Stream.fromQueue(events)
      }
    })
  )
}

interface Line {
  readonly socket: WebSocket
  /** Whether it has carried a call. */
  used: boolean
  /** Completed to have another line opened in its place. */
  readonly renew: Deferred.Deferred<void>
}

/** Callers check what a person typed; a message that is not of the protocol is a defect here. */
const encode = (message: ClientMessage) => Schema.encode(Schema.parseJson(ClientMessage))(message).pipe(Effect.orDie)

const decode = Schema.decodeUnknownEither(Schema.parseJson(ServerMessage))

/** Reads one frame of the network. */
export const readFrame = (raw: string): PhoneEvent => {
  const decoded = decode(raw)
  return Either.isRight(decoded)
    ? PhoneEvent.Received({ message: decoded.right })
    : PhoneEvent.Garbled({ raw: raw.slice(0, 200), reason: known(raw) })
}

/** Why a frame could not be read, in a few words: the whole schema error is longer than a screen. */
const known = (raw: string): string => {
  const object = Schema.decodeUnknownEither(Schema.parseJson(Schema.Struct({ event: Schema.String })))(raw)
  if (Either.isLeft(object)) return "not a message of the network"
  const names = ServerMessage.members.map((member) => member.fields.event.literals[0])
  return names.some((name) => name === object.right.event)
    ? `the fields of "${object.right.event}" are wrong`
    : `unknown event "${object.right.event}"`
}

const keepConnected = (
  url: string,
  current: SubscriptionRef.SubscriptionRef<Line | null>,
  events: Queue.Queue<PhoneEvent>
): Effect.Effect<never> =>
  Effect.gen(function* () {
    let failures = 0
    let quiet = false
    while (true) {
      if (!quiet) yield* events.offer(PhoneEvent.Connecting({ attempt: failures + 1 }))
      const lost = yield* Effect.scoped(
        Effect.gen(function* () {
          const socket = yield* open(url, events)
          failures = 0
          const renew = yield* Deferred.make<void>()
          yield* Effect.addFinalizer(() => SubscriptionRef.set(current, null))
          yield* SubscriptionRef.set(current, { socket, used: false, renew })
          if (!quiet) yield* events.offer(PhoneEvent.Connected())
          return yield* Effect.raceAll([closed(socket), silent(socket), Deferred.await(renew).pipe(Effect.as(null))])
        }).pipe(Effect.merge)
      )
      quiet = lost === null
      if (lost === null) continue
      failures += 1
      const retry_ms = retryDelay(failures)
      yield* events.offer(PhoneEvent.Away({ reason: lost, retry_ms }))
      yield* Effect.sleep(Duration.millis(retry_ms))
    }
  })

/** Opens a socket that closes with the scope. Fails with the reason, in plain words. */
const open = (url: string, events: Queue.Queue<PhoneEvent>): Effect.Effect<WebSocket, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = new WebSocket(url, {
        handshakeTimeout: Duration.toMillis(connectTimeout),
        perMessageDeflate: false
      })
      // A socket without a listener for errors ends the process; the reason is read where it matters, below.
      socket.on("error", () => {})
      socket.on("message", (data) => events.unsafeOffer(readFrame(data.toString())))
      return socket
    }),
    (socket) =>
      Effect.sync(() => {
        socket.removeAllListeners("message")
        // A phone that goes away mid-call has hung up: the closing handshake tells the network so at once.
        if (socket.readyState === WebSocket.OPEN) socket.close()
        else socket.terminate()
      })
  ).pipe(
    Effect.tap((socket) =>
      Effect.async<void, string>((resume) => {
        socket.once("open", () => resume(Effect.void))
        socket.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(plain(error))))
        socket.once("close", () => resume(Effect.fail("the connection was closed")))
      })
    )
  )

const closed = (socket: WebSocket): Effect.Effect<string> =>
  Effect.async((resume) => {
    const done = (code: number, reason: Buffer) =>
      resume(Effect.succeed(reason.length > 0 ? reason.toString() : (closeReasons[code] ?? `closed with code ${code}`)))
    socket.once("close", done)
    return Effect.sync(() => socket.off("close", done))
  })

/** Succeeds once a ping went unanswered: the peer hangs, or the way to it is broken. */
const silent = (socket: WebSocket): Effect.Effect<string> =>
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
  1000: "the server closed the line",
  1001: "the server is shutting down",
  1005: "the server closed the line",
  1006: "the connection was lost",
  1011: "the server had an error"
}

/** A connection error as people say it; `ECONNREFUSED` and the like stand in an AggregateError without a message. */
const plain = (error: NodeJS.ErrnoException): string => {
  if (error.code === "ECONNREFUSED") return "nothing answers at its address"
  if (error.code === "ENOTFOUND") return "its host name is unknown"
  if (error.code === "ECONNRESET") return "the connection was reset"
  return error.message === "" ? (error.code ?? "unknown error") : error.message
}

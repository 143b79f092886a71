import { ClientMessage } from "@svc/providers/SimulatedNetwork"
import { Context, Data, Deferred, Effect, Layer, Option, Queue, Schema, Scope, Stream, SubscriptionRef } from "effect"
import { WebSocket } from "ws"
import { connectTimeout, keepConnected, openSocket, type PhoneConnection } from "./PhoneConnection.ts"
import type { PhoneEvent } from "./PhoneEvent.ts"
import { networkUrl, ServerAddress } from "./ServerAddress.ts"

/** There is no connection to the network. */
export class NotConnected extends Data.TaggedError("NotConnected")<{ readonly action: string }> {
  override get message(): string {
    return `cannot ${this.action}: the server is away`
  }
}

type MessageOf<E extends ClientMessage["event"]> = Omit<Extract<ClientMessage, { readonly event: E }>, "event">

/** A phone on the simulated network, over a WebSocket that is reopened when it is lost. */
export class Phone extends Context.Tag("@svc/simulator/Phone")<
  Phone,
  {
    readonly dial: (call: MessageOf<"dial">) => Effect.Effect<void, NotConnected>
    /** The network speaks the text as the caller. */
    readonly say: (text: string) => Effect.Effect<void, NotConnected>
    /** `digits` of `0-9*#`. */
    readonly dtmf: (digits: string) => Effect.Effect<void, NotConnected>
    readonly hangup: Effect.Effect<void, NotConnected>
    /** Registers the number for this phone, which answers calls to it. */
    readonly receive: (number: string) => Effect.Effect<void, NotConnected>
    /** Registers a number for an additional phone, which exists as long as this one. */
    readonly register: (
      other: Omit<MessageOf<"register">, "numbers"> & { readonly number: string }
    ) => Effect.Effect<void, NotConnected>
    /** All events in order, for a single reader. */
    readonly events: Stream.Stream<PhoneEvent>
  }
>() {
  static readonly layer: Layer.Layer<Phone, never, ServerAddress> = Layer.scoped(
    Phone,
    Effect.gen(function* () {
      const address = yield* ServerAddress
      const events = yield* Queue.unbounded<PhoneEvent>()
      const current = yield* SubscriptionRef.make<PhoneConnection | null>(null)

      yield* keepConnected(networkUrl(address.url), current, events).pipe(Effect.forkScoped)

      const send = (connection: PhoneConnection | null, action: string, message: ClientMessage) =>
        Effect.gen(function* () {
          if (connection === null || connection.socket.readyState !== WebSocket.OPEN)
            return yield* new NotConnected({ action })
          const text = yield* encode(message)
          yield* Effect.sync(() => connection.socket.send(text))
        })
      const sendOn = (action: string, message: ClientMessage) =>
        Effect.flatMap(SubscriptionRef.get(current), (connection) => send(connection, action, message))

      /**
       * A connection without a previous call. Each call has its own, so that late messages cannot reach the next call.
       */
      const unusedConnection = Effect.gen(function* () {
        const connection = yield* SubscriptionRef.get(current)
        if (connection === null || !connection.used) return connection
        yield* Deferred.succeed(connection.replace, undefined)
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
          const connection = yield* unusedConnection
          yield* send(connection, "register", { event: "register", numbers: [number], behaviour: "answer" })
          if (connection !== null) connection.used = true
        }),
        register: Effect.fn("Phone.register")(function* ({ number, ...other }) {
          const lost = () => new NotConnected({ action: "register" })
          const messages = yield* Queue.dropping<PhoneEvent>(100)
          const socket = yield* Effect.mapError(
            Scope.extend(openSocket(networkUrl(address.url), messages), scope),
            lost
          )
          const text = yield* encode({ event: "register", numbers: [number], ...other })
          socket.send(text)
          yield* Effect.mapError(Effect.timeout(Queue.take(messages), connectTimeout), lost)
        }),
        dial: Effect.fn("Phone.dial")(function* (call) {
          const connection = yield* unusedConnection
          yield* send(connection, "dial", { event: "dial", ...call })
          if (connection !== null) connection.used = true
        }),
        say: Effect.fn("Phone.say")((text) => sendOn("speak", { event: "say", text })),
        dtmf: Effect.fn("Phone.dtmf")((digits) => sendOn("send digits", { event: "dtmf", digits })),
        hangup: sendOn("hang up", { event: "hangup" }),
        events: Stream.fromQueue(events)
      }
    })
  )
}

/** Input is validated before: a message that does not match the protocol is a defect. */
const encode = (message: ClientMessage) => Schema.encode(Schema.parseJson(ClientMessage))(message).pipe(Effect.orDie)

import type { Route, RouteSocket } from "@svc/providers/Route"
import { ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Effect, Mailbox, Schema } from "effect"

const decode = Schema.decodeUnknownSync(Schema.parseJson(ServerMessage))

/** A phone on the simulated network, connected by a socket that is a pair of functions. */
export class Phone {
  readonly messages: Array<ServerMessage> = []
  private readonly inbox: Mailbox.Mailbox<ServerMessage>
  private onMessage: (data: string) => void = () => {}
  private onClose: (code: number) => void = () => {}
  closed = false

  private constructor(inbox: Mailbox.Mailbox<ServerMessage>) {
    this.inbox = inbox
  }

  static readonly connect = (routes: ReadonlyArray<Route>): Effect.Effect<Phone> =>
    Effect.map(Mailbox.make<ServerMessage>(), (inbox) => {
      const phone = new Phone(inbox)
      const route = routes.find((r) => r._tag === "WebSocket")
      if (route === undefined) throw new Error("no WebSocket route")
      const socket: RouteSocket = {
        send: (data) => {
          const message = decode(String(data))
          phone.messages.push(message)
          inbox.unsafeOffer(message)
        },
        bufferedBytes: () => 0,
        close: () => phone.close(),
        onMessage: (handler) => {
          phone.onMessage = handler
        },
        onClose: (handler) => {
          phone.onClose = handler
        }
      }
      route.accept(socket, {
        method: "GET",
        path: "",
        query: new URLSearchParams(),
        headers: {},
        body: new Uint8Array(),
        params: {},
        remoteAddress: "127.0.0.1"
      })
      return phone
    })

  send(message: unknown): void {
    this.onMessage(JSON.stringify(message))
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.onClose(1000)
  }

  /** The next message that matches; earlier ones are skipped. */
  readonly next = (fits: (message: ServerMessage) => boolean): Effect.Effect<ServerMessage> =>
    Effect.orDie(this.inbox.take).pipe(
      Effect.repeat({ until: fits }),
      Effect.timeoutFail({
        duration: "15 seconds",
        onTimeout: () => new Error(`the phone timed out; it got ${JSON.stringify(this.messages)}`)
      }),
      Effect.orDie
    )

  readonly until = (event: ServerMessage["event"]): Effect.Effect<ServerMessage> => this.next((m) => m.event === event)

  readonly hears = (text: RegExp): Effect.Effect<ServerMessage> =>
    this.next((m) => m.event === "heard" && m.final && text.test(m.text))
}

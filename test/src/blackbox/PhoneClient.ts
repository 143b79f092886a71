import { type ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"
import { Effect, Schema, type Scope } from "effect"
import { WebSocket } from "ws"
import { defaultTimeout, Inbox } from "./Inbox.ts"

const decode = Schema.decodeUnknownSync(Schema.parseJson(ServerMessage))

type MessageOf<E extends ServerMessage["event"]> = Extract<ServerMessage, { readonly event: E }>

/** A phone on the simulated network: one WebSocket, one call at a time. */
export interface PhoneClient {
  /** Messages of the network. */
  readonly inbox: Inbox<ServerMessage>
  readonly send: (message: ClientMessage) => void
  /** Sends any text, also malformed messages. */
  readonly sendRaw: (text: string | Uint8Array) => void
  readonly say: (text: string) => void
  readonly hangup: () => void
  /** Breaks the connection. */
  readonly drop: () => void
  /** The next message of that name. */
  readonly until: <E extends ServerMessage["event"]>(event: E) => Effect.Effect<MessageOf<E>>
  /** The next complete utterance that the caller hears and that matches. */
  readonly hears: (text: RegExp | string) => Effect.Effect<string>
  /** Waits until the caller has heard these words, perhaps within an utterance. */
  readonly catches: (words: string) => Effect.Effect<string>
}

/** Connects a phone to the server at `url` (`http://…`). The scope disconnects it. */
export const connect = (url: string): Effect.Effect<PhoneClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const inbox = new Inbox<ServerMessage>("the phone")
    const socket = yield* Effect.acquireRelease(
      Effect.async<WebSocket>((resume) => {
        const opened = new WebSocket(`${url.replace(/^http/, "ws")}/telephony/simulated`)
        opened.once("open", () => resume(Effect.succeed(opened)))
        opened.on("error", (error) => resume(Effect.die(new Error(`no line to ${url}: ${error.message}`))))
        opened.on("message", (data) => inbox.push(decode(String(data))))
        opened.on("close", (code, reason) => inbox.close(`the line was closed (${code} ${reason})`))
        return Effect.sync(() => opened.terminate())
      }).pipe(
        Effect.timeoutFail({ duration: defaultTimeout, onTimeout: () => new Error(`no line to ${url}`) }),
        Effect.orDie
      ),
      (opened) => Effect.sync(() => opened.terminate())
    )
    const send = (message: ClientMessage) => socket.send(JSON.stringify(message))
    const heard = (final: boolean, what: string, fits: (text: string) => boolean) =>
      Effect.map(
        inbox.next(
          what,
          (message): message is MessageOf<"heard"> =>
            message.event === "heard" && (message.final || !final) && fits(message.text)
        ),
        ({ text }) => text
      )
    return {
      inbox,
      send,
      sendRaw: (text) => socket.send(text),
      say: (text) => send({ event: "say", text }),
      hangup: () => send({ event: "hangup" }),
      drop: () => socket.terminate(),
      until: (event) => inbox.next(event, (message): message is MessageOf<typeof event> => message.event === event),
      hears: (text) =>
        heard(true, `to hear ${text}`, (said) => (typeof text === "string" ? said === text : text.test(said))),
      catches: (words) => heard(false, `to catch ${words}`, (said) => said.includes(words))
    }
  })

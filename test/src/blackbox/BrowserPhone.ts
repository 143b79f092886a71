import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { renderFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { Effect, type Scope } from "effect"
import { WebSocket } from "ws"
import { everyFrame } from "../media/EveryFrame.ts"
import { Inbox } from "./Inbox.ts"

/** A message of the server; `heard` is what the page would play, decoded. */
export type BrowserMessage = { readonly event: string; readonly [field: string]: unknown }

/** The page of a call link, without a browser: it plays what comes at once, and speaks tone speech. */
export interface BrowserPhone {
  readonly inbox: Inbox<BrowserMessage>
  /** The next message of that name. */
  readonly until: (event: string) => Effect.Effect<BrowserMessage>
  readonly hears: (text: string) => Effect.Effect<unknown>
  readonly say: (text: string) => void
  readonly send: (message: unknown) => void
  /** Leaves the page. */
  readonly leave: () => void
  /** Breaks the connection. */
  readonly drop: () => void
  /** Completes with the close code. */
  readonly closed: Effect.Effect<string>
  /** How many counted messages came. */
  readonly received: () => number
}

const silence = new Int16Array(320)

/**
 * Connects to the link at `url`, for a new call or to go on with one; fails with the status of a refusal. The scope leaves
 * the page.
 */
export const connect = (
  url: string,
  former?: { readonly key: string; readonly received: number }
): Effect.Effect<BrowserPhone, { readonly status: number | undefined }, Scope.Scope> =>
  Effect.gen(function* () {
    const inbox = new Inbox<BrowserMessage>("the page")
    let received = former?.received ?? 0
    let controls = 0
    const decoder = new ToneDecoder({
      started: () => {},
      progressed: () => {},
      ended: (text) => inbox.push({ event: "heard", text })
    })
    const sendOn = (socket: WebSocket, message: unknown) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
    }
    const socket = yield* Effect.acquireRelease(
      Effect.async<WebSocket, { readonly status: number | undefined }>((resume) => {
        const query = former === undefined ? "" : `?resume=${former.key}&received=${former.received}`
        const opened = new WebSocket(`${url.replace(/^http/, "ws")}/call${query}`)
        opened.once("open", () => resume(Effect.succeed(opened)))
        opened.once("unexpected-response", (_, { statusCode }) => resume(Effect.fail({ status: statusCode })))
        opened.on("error", () => {})
        opened.on("close", (code) => inbox.close(String(code)))
        opened.on("message", (data: Buffer, isBinary) => {
          if (isBinary) {
            received++
            const audio = new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length))
            for (let at = 0; at < audio.length; at += silence.length) {
              decoder.push(audio.subarray(at, at + silence.length), 0, 2)
            }
            return
          }
          const message: BrowserMessage = JSON.parse(String(data))
          if (message.event === "ping") return
          if (message.event !== "resumed") received++
          if (message.event === "mark") sendOn(opened, { event: "mark", name: message["name"], n: ++controls })
          inbox.push(message)
        })
      }),
      (opened) => Effect.sync(() => opened.close(1001))
    )
    const send = (message: unknown) => sendOn(socket, message)
    let speech: ToneEncoder | undefined
    let left = 0
    const frame = new Int16Array(320)
    yield* Effect.forkScoped(
      everyFrame(() => {
        if (socket.readyState !== WebSocket.OPEN) return
        if (speech !== undefined && left-- > 0) renderFrame(speech.next(), 16_000, frame, 0)
        else frame.set(silence)
        socket.send(Buffer.from(frame.buffer.slice(0)))
        if (received % 10 === 0) send({ event: "ack", received })
      })
    )
    return {
      inbox,
      until: (event) => inbox.next(event, (message) => message.event === event),
      hears: (text) =>
        inbox.next(`to hear ${text}`, (message) => message.event === "heard" && message["text"] === text),
      say: (text) => {
        speech = new ToneEncoder(text)
        left = speech.frames
      },
      send,
      leave: () => socket.close(1001),
      drop: () => socket.terminate(),
      closed: inbox.closed,
      received: () => received
    }
  })

import { frameBytes, mulaw8k } from "@svc/providers/Audio"
import { BatchedMedia } from "@svc/providers/BatchedMedia"
import type { RouteSocket } from "@svc/providers/Route"
import type { SharedTimeout } from "@svc/providers/SharedTimeout"
import type { CallEvent } from "@svc/providers/Telephony"
import { dtmfTones } from "./DtmfTones.ts"
import { PacketTimes } from "./PacketTimes.ts"
import { readStreamMessage, type StreamMessage } from "./StreamMessage.ts"

/** Unsent bytes from which Twilio counts as not reading: about 10 s of audio in base64. */
const maxUnsent = 128 * 1024

/** What a stream reports to the call. */
export interface StreamListener {
  readonly onEvent: (event: CallEvent) => void
  /** Twilio has ended the stream. */
  readonly onStop: () => void
  /** The connection has broken, or was closed without `stop`. */
  readonly onBroken: () => void
}

/** The media stream of a call: one WebSocket after the other. */
export class MediaStream {
  /** When the last message came, and when the present connection began, in milliseconds. */
  heardAt: number
  connectedAt: number
  readonly #now: () => number
  readonly #listener: StreamListener
  readonly #media: BatchedMedia
  #socket: RouteSocket | undefined
  /** Whether the packets have numbers, by the first one of the connection. */
  #isNumbered: boolean | undefined
  readonly #times = new PacketTimes(mulaw8k.sampleRate)

  constructor(options: {
    readonly now: () => number
    readonly flushAfter: SharedTimeout
    readonly listener: StreamListener
  }) {
    const { listener, now, flushAfter } = options
    this.#now = now
    this.#listener = listener
    this.heardAt = now()
    this.connectedAt = now()
    this.#media = new BatchedMedia({
      frameBytes: frameBytes(mulaw8k),
      flushAfter,
      onMark: (name, outcome) => listener.onEvent({ _tag: "Mark", name, outcome })
    })
  }

  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  attach(socket: RouteSocket, streamSid: string): void {
    this.#socket = socket
    this.#times.restart(this.#now() - this.heardAt)
    this.heardAt = this.#now()
    this.connectedAt = this.#now()
    this.#isNumbered = undefined
    const send = (event: string, part: object): void => {
      if (this.#socket !== socket) return
      if (socket.bufferedBytes() > maxUnsent) socket.close(1013, "the audio is not read")
      else socket.send(JSON.stringify({ event, streamSid, ...part }))
    }
    this.#media.connect({
      media: (audio) => send("media", { media: { payload: Buffer.from(audio).toString("base64") } }),
      mark: (name) => send("mark", { mark: { name } }),
      clear: () => send("clear", {})
    })
    socket.onMessage((data) => {
      if (this.#socket === socket) this.#receive(readStreamMessage(data, streamSid))
    })
    socket.onClose(() => {
      if (this.#socket === socket) this.#listener.onBroken()
    })
  }

  /** Goes on without a connection. What was not played is lost. */
  detach(): void {
    this.#media.connect(undefined)
    this.#closeSocket()
  }

  /** Nothing more is sent or reported. The connection stays open until `close`. */
  end(): void {
    this.#media.close()
  }

  close(): void {
    this.end()
    this.#closeSocket()
  }

  send(frame: Uint8Array): void {
    this.#media.send(frame)
  }

  mark(name: string): void {
    this.#media.mark(name)
  }

  clear(): void {
    this.#media.clear()
  }

  /** Digits as tones, because the protocol has no message for them. */
  press(digits: string): void {
    this.#media.insert(dtmfTones(digits))
  }

  #closeSocket(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(1000, "the stream is over")
  }

  #receive(message: StreamMessage | undefined): void {
    this.heardAt = this.#now()
    switch (message?.event) {
      case "media":
        this.#listener.onEvent(this.#audioOf(message))
        return
      case "mark":
        this.#media.marked(message.name)
        return
      case "dtmf":
        this.#listener.onEvent({ _tag: "Dtmf", digit: message.digit, source: "signaling" })
        return
      case "stop":
        this.#listener.onStop()
        return
    }
  }

  /** Nothing is lost over a WebSocket, but audio may be out of order: the numbers say where it belongs. */
  #audioOf({ chunk, payload, timestamp }: Extract<StreamMessage, { event: "media" }>): CallEvent {
    const audio = Buffer.from(payload, "base64")
    this.#isNumbered ??= chunk !== undefined && timestamp !== undefined
    if (!this.#isNumbered) return { _tag: "Audio", payload: audio }
    return { _tag: "Audio", payload: audio, ...this.#times.place(chunk ?? 0, timestamp ?? 0, audio.length) }
  }
}

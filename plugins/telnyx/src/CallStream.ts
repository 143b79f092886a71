import { frameBytes } from "@svc/providers/Audio"
import { BatchedMedia } from "@svc/providers/BatchedMedia"
import type { RouteSocket } from "@svc/providers/Route"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { CallNetwork } from "./CallNetwork.ts"
import { type Codec, converter } from "./Codec.ts"
import { clearMessage, type MediaMessage, markMessage, mediaMessage, readMediaMessage } from "./MediaMessage.ts"
import { PacketTimes } from "./PacketTimes.ts"

/** How long Telnyx may take to open the media connection of an answered call, before it is requested once more. */
const missingAfter = "2 seconds"
/** Bytes that may wait to be sent before the connection counts as stuck: 8 s of audio in base64. */
const mostWaiting = 128 * 1024

/** What a stream reports to its call. */
export interface StreamListener {
  readonly emit: (event: CallEvent) => void
  /** A digit, as often as it was pressed. */
  readonly onDigit: (digit: string) => void
  /** Audio flows. */
  readonly onStarted: () => void
  /** The connection is lost; `reason` is text for people. */
  readonly onLost: (reason: string) => void
}

/**
 * The media of a call over its connections, one after the other. A connection counts from its `start` on, and until its
 * `stop`, its end, or the next one.
 */
export class CallStream {
  readonly #network: CallNetwork
  readonly #callControlId: () => string | undefined
  readonly #codec: Codec
  readonly #listener: StreamListener
  readonly #batches: BatchedMedia
  readonly #times = new PacketTimes()
  /** The connection that was requested and is not open yet. */
  #requested: { readonly token: string; readonly fields: Readonly<Record<string, unknown>> } | undefined
  #socket: RouteSocket | undefined
  #isStarted = false
  #convert: (audio: Uint8Array) => Uint8Array = (audio) => audio
  #heardAt = 0
  /** When the last audio came. */
  #audioAt: number | undefined
  #hasWarned = false

  constructor(options: {
    readonly network: CallNetwork
    readonly callControlId: () => string | undefined
    readonly codec: Codec
    readonly listener: StreamListener
  }) {
    const { network } = options
    this.#network = network
    this.#callControlId = options.callControlId
    this.#codec = options.codec
    this.#listener = options.listener
    this.#batches = new BatchedMedia({
      frameBytes: frameBytes(options.codec.format),
      flushAfter: network.flushAfter,
      onMark: (name, outcome) => this.#listener.emit({ _tag: "Mark", name, outcome })
    })
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  /** When the last message came, in milliseconds; null while there is no connection. */
  get heardAt(): number | null {
    return this.#isStarted ? this.#heardAt : null
  }

  /** The fields with which a command asks Telnyx to open the next connection. */
  request(): Readonly<Record<string, unknown>> {
    this.forget()
    const { token, url } = this.#network.streams.expect((socket) => this.#attach(socket))
    const fields = {
      stream_url: url,
      stream_track: "inbound_track",
      stream_codec: this.#codec.name,
      stream_bidirectional_mode: "rtp",
      stream_bidirectional_codec: this.#codec.name
    }
    this.#requested = { token, fields }
    return fields
  }

  /** Requests the connection once more, if Telnyx has not opened it after 2 s. The first request may still be met. Never fails. */
  readonly requestMissing: Effect.Effect<void> = Effect.suspend(() => {
    const id = this.#callControlId()
    if (id === undefined || this.#requested === undefined) return Effect.void
    return Effect.catchAll(
      Effect.asVoid(this.#network.commands.command(id, "streaming_start", this.#requested.fields)),
      ({ reason }) =>
        Effect.sync(() => {
          if (this.#requested === undefined) return
          this.#network.log.warning(`Telnyx did not open the media connection of a call: ${reason}`)
        })
    )
  }).pipe(Effect.delay(missingAfter))

  /** The connection that was asked for is no longer expected. */
  forget(): void {
    if (this.#requested !== undefined) this.#network.streams.forget(this.#requested.token)
    this.#requested = undefined
  }

  readonly send = (frame: Uint8Array): void => this.#batches.send(frame)
  readonly mark = (name: string): void => this.#batches.mark(name)
  readonly clear = (): void => this.#batches.clear()

  /** Ends the connection; nothing is reported after that. */
  close(): void {
    this.forget()
    this.#batches.close()
    this.#isStarted = false
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(1000, "the stream is over")
  }

  #attach(socket: RouteSocket): void {
    this.#requested = undefined
    const former = this.#socket
    this.#socket = socket
    this.#isStarted = false
    former?.close(1000, "another stream has begun")
    socket.onMessage((data) => {
      if (this.#socket === socket) this.#receive(data)
    })
    socket.onClose((code) => {
      if (this.#socket === socket) this.#lose(`the media connection was closed with code ${code}`)
    })
  }

  #receive(data: string | Uint8Array): void {
    const now = this.#network.now()
    let message: MediaMessage | undefined
    try {
      message = readMediaMessage(typeof data === "string" ? data : new TextDecoder().decode(data))
    } catch (error) {
      if (!this.#hasWarned) this.#network.log.warning(`a message of a media stream is malformed: ${String(error)}`)
      this.#hasWarned = true
      return
    }
    this.#heardAt = now
    switch (message?.event) {
      case "start":
        this.#start(message, this.#audioAt === undefined ? 0 : now - this.#audioAt)
        return
      case "media": {
        if (!this.#isStarted) return
        this.#audioAt = now
        const payload = this.#convert(message.payload)
        if (payload.length === 0) return
        this.#listener.emit({
          _tag: "Audio",
          payload,
          ...this.#times.next(message.chunk, message.timestamp, payload.length)
        })
        return
      }
      case "dtmf":
        this.#listener.onDigit(message.digit)
        return
      case "mark":
        this.#batches.marked(message.name)
        return
      case "stop":
        this.#lose("Telnyx has stopped the media stream")
        return
      case "error":
        this.#network.log.warning(`Telnyx reports an error of a media stream: ${message.reason}`)
        return
    }
  }

  #start({ callControlId, encoding }: Extract<MediaMessage, { readonly event: "start" }>, pauseMs: number): void {
    const socket = this.#socket
    const known = this.#callControlId()
    if (socket === undefined || this.#isStarted) return
    if (callControlId !== undefined && known !== undefined && callControlId !== known) {
      this.#socket = undefined
      socket.close(1008, "this connection was opened for another call")
      this.#listener.onLost("Telnyx opened the media connection for another call")
      return
    }
    const convert = converter(encoding, this.#codec)
    if (convert === undefined) {
      this.#lose(`the stream has the codec ${encoding}, where ${this.#codec.name} was asked for`)
      return
    }
    this.#convert = convert
    this.#isStarted = true
    this.#times.restart(pauseMs)
    this.#batches.connect({
      media: (audio) => this.#pass(socket, mediaMessage(audio)),
      mark: (name) => this.#pass(socket, markMessage(name)),
      clear: () => this.#pass(socket, clearMessage)
    })
    this.#listener.onStarted()
  }

  #pass(socket: RouteSocket, message: string): void {
    socket.send(message)
    if (socket.bufferedBytes() > mostWaiting) this.#lose("Telnyx does not read the media connection")
  }

  #lose(reason: string): void {
    const socket = this.#socket
    if (socket === undefined) return
    this.#socket = undefined
    this.#isStarted = false
    this.#batches.connect(undefined)
    socket.close(1000, reason)
    this.#listener.onLost(reason)
  }
}

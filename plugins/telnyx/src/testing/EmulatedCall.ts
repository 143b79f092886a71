import { randomUUID } from "node:crypto"
import { makeFailures } from "@svc/providers/RequestFailed"
import { type EmulatedPlayback, emulatedPlayback } from "@svc/providers/testing/EmulatedPlayback"
import type { PhoneCall } from "@svc/providers/testing/Phone"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Effect, Exit, type Fiber, Scope } from "effect"

/** What a call reports to the emulated carrier. */
export interface CallEvents {
  readonly webhook: (call: EmulatedCall, type: string, more?: Readonly<Record<string, unknown>>) => void
  readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  readonly onEnded: (call: EmulatedCall) => void
}

const silent = { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
const failures = makeFailures({ server: "svc", key: undefined, keySetting: "none", log: silent })

/** One leg at the emulated carrier, and the phone at its end. */
export class EmulatedCall {
  readonly id = `v3:${randomUUID()}`
  readonly session: string
  readonly direction: "incoming" | "outgoing"
  readonly from: string
  readonly to: string
  clientState: string | undefined
  webhookUrl: string
  state: ReturnType<PhoneCall["state"]> = "dialling"
  /** The streams so far, with what the command said. */
  readonly streams: Array<Readonly<Record<string, unknown>>> = []
  /** The digits that the phone has received. */
  digits = ""
  /** The other leg, once the two are bridged. */
  bridged: EmulatedCall | undefined
  /** The leg of a transfer that rings. */
  ringing: EmulatedCall | undefined
  readonly #events: CallEvents
  #stream: { readonly scope: Scope.CloseableScope; readonly socket: WebSocketClient.ClientSocket } | undefined
  #playback: EmulatedPlayback | undefined
  #heard: Array<Uint8Array> = []
  #chunk = 0
  #sequence = 0
  #startedAt = 0

  constructor(
    events: CallEvents,
    options: {
      readonly direction: "incoming" | "outgoing"
      readonly from: string
      readonly to: string
      readonly webhookUrl: string
      readonly session?: string
      readonly clientState?: string
    }
  ) {
    this.#events = events
    this.direction = options.direction
    this.from = options.from
    this.to = options.to
    this.webhookUrl = options.webhookUrl
    this.session = options.session ?? randomUUID()
    this.clientState = options.clientState
  }

  get isOver(): boolean {
    return this.state === "ended" || this.state === "rejected"
  }

  get hasStream(): boolean {
    return this.#stream !== undefined
  }

  /** What the phone has played. */
  heard(): Uint8Array {
    return new Uint8Array(Buffer.concat([...this.#heard, this.#playback?.heard() ?? new Uint8Array()]))
  }

  /** Opens a media connection, and plays what comes over it. */
  openStream(request: Readonly<Record<string, unknown>>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.streams.push(request)
      const scope = yield* Scope.make()
      const playback = yield* emulatedPlayback({
        frameBytes: 160,
        onMark: (name) => this.#send({ event: "mark", mark: { name } })
      }).pipe(Scope.extend(scope))
      const opened = yield* WebSocketClient.open({
        url: String(request["stream_url"]),
        failures,
        onMessage: (message) => this.#obey(String(message)),
        onClosed: () => {
          if (this.#stream?.scope === scope) this.#events.fork(this.closeStream)
        }
      }).pipe(Scope.extend(scope), Effect.either)
      if (opened._tag === "Left" || this.isOver) {
        this.#events.webhook(this, "streaming.failed", { failure_reason: "connection_failed" })
        return yield* Scope.close(scope, Exit.void)
      }
      yield* this.closeStream
      this.#stream = { scope, socket: opened.right }
      this.#playback = playback
      this.#chunk = 0
      this.#sequence = 0
      this.#startedAt = performance.now()
      opened.right.send(JSON.stringify({ event: "connected", version: "1.0.0" }))
      this.#send({
        event: "start",
        start: {
          user_id: "user",
          call_control_id: this.id,
          call_session_id: this.session,
          from: this.from,
          to: this.to,
          client_state: this.clientState,
          media_format: { encoding: String(request["stream_codec"] ?? "PCMU"), sample_rate: 8000, channels: 1 }
        }
      })
      this.#events.webhook(this, "streaming.started", { stream_url: request["stream_url"] })
    })
  }

  /** Ends the media connection. */
  get closeStream(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const stream = this.#stream
      if (stream === undefined) return Effect.void
      this.#stream = undefined
      this.#heard.push(this.#playback?.heard() ?? new Uint8Array())
      this.#playback = undefined
      return Scope.close(stream.scope, Exit.void)
    })
  }

  /** Says `stop`, and ends the media connection. */
  get stopStream(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#send({ event: "stop", stop: { call_control_id: this.id } })
      // What was sent must have left.
      return Effect.delay(this.closeStream, 10)
    })
  }

  /** Sends a message on the media connection as it is. */
  raw(text: string): void {
    this.#stream?.socket.send(text)
  }

  /** Audio of the phone. `skip` packets are lost before it. */
  sendAudio(frame: Uint8Array, skip = 0): void {
    this.#chunk += 1 + skip
    this.sendChunk(frame, this.#chunk, Math.round(performance.now() - this.#startedAt))
  }

  sendChunk(frame: Uint8Array, chunk: number, timestamp: number): void {
    this.#send({
      event: "media",
      media: {
        track: "inbound",
        chunk: String(chunk),
        timestamp: String(timestamp),
        payload: Buffer.from(frame).toString("base64")
      }
    })
  }

  press(digits: string): void {
    for (const digit of digits) {
      this.#send({ event: "dtmf", dtmf: { digit } })
      this.#events.webhook(this, "call.dtmf.received", { digit })
    }
  }

  /** Telnyx answers commands for it with 422 from now on. */
  end(state: "ended" | "rejected"): void {
    if (this.isOver) return
    this.state = state
    this.#events.onEnded(this)
  }

  /** The phone as the conformance suite uses it. */
  phone(hangUp: (call: EmulatedCall) => Effect.Effect<void>): PhoneCall {
    return {
      state: () => this.state,
      send: (frame) => Effect.sync(() => this.sendAudio(frame)),
      heard: () => this.heard(),
      hangup: Effect.suspend(() => hangUp(this)),
      drop: Effect.suspend(() => {
        this.end("ended")
        return this.closeStream
      }),
      press: (digits) => Effect.sync(() => this.press(digits)),
      digits: () => this.digits,
      garbage: Effect.sync(() => {
        this.raw("not even JSON")
        this.raw(JSON.stringify({ event: "media", media: { payload: 7 } }))
      })
    }
  }

  #send(message: Readonly<Record<string, unknown>>): void {
    this.#sequence++
    this.#stream?.socket.send(
      JSON.stringify({ ...message, sequence_number: String(this.#sequence), stream_id: this.session })
    )
  }

  #obey(text: string): void {
    const { event, mark, media } = Object(JSON.parse(text))
    // What a bridged call hears is the other party.
    if (this.bridged !== undefined) return
    if (event === "media") this.#playback?.audio(Buffer.from(String(Object(media).payload), "base64"))
    else if (event === "mark") this.#playback?.mark(String(Object(mark).name))
    else if (event === "clear") this.#playback?.clear()
  }
}

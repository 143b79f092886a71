import { randomBytes } from "node:crypto"
import { makeFailures } from "@svc/providers/RequestFailed"
import { type EmulatedPlayback, emulatedPlayback } from "@svc/providers/testing/EmulatedPlayback"
import type { PhoneCall } from "@svc/providers/testing/Phone"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { heardDigits } from "./HeardDigits.ts"
import { type Verb, verbsOf } from "./TwimlDocument.ts"

/** An id as Twilio makes them. */
export const newSid = (prefix: string): string => prefix + randomBytes(16).toString("hex")

/** What a call needs of the emulated carrier. */
export interface Carrier {
  readonly accountSid: string
  /** Makes a signed request, and returns the body of its answer; null: it failed. */
  readonly post: (url: string, fields: Readonly<Record<string, string>>) => Effect.Effect<string | null>
  readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  /** Calls a number for a `<Dial>`, and returns its leg. */
  readonly ring: (call: EmulatedCall, verb: Extract<Verb, { verb: "Dial" }>) => EmulatedCall
}

const silent = { debug: () => {}, info: () => {}, warning: () => {}, error: () => {} }
const failures = makeFailures({ server: "svc", key: undefined, keySetting: "none", log: silent })

interface Stream {
  readonly sid: string
  readonly scope: Scope.CloseableScope
  readonly send: (message: object) => void
  readonly playback: EmulatedPlayback
  readonly closed: Deferred.Deferred<void>
  readonly startedAt: number
}

/** One leg at the emulated carrier, with the phone at its end. */
export class EmulatedCall {
  readonly sid = newSid("CA")
  readonly from: string
  readonly to: string
  readonly direction: "inbound" | "outbound-api" | "outbound-dial"
  readonly statusCallback: string | undefined
  /** The call whose `<Dial>` placed this one. */
  readonly parentSid: string | undefined
  status: "queued" | "ringing" | "in-progress" | "completed" | "busy" | "failed" | "no-answer" | "canceled" = "queued"
  /** The phone heard Twilio's refusal. */
  isRejected = false
  readonly ended = Effect.runSync(Deferred.make<void>())
  readonly answered = Effect.runSync(Deferred.make<void>())
  /** How many streams it had. */
  streams = 0
  /** Whether the stream ends with `stop`. */
  saysStop = true
  /** The handshake of the media stream fails. */
  refusesStream = false
  /** When the stream breaks, nothing is asked, as if the document had ended there, and the call goes on. */
  forgets = false
  /** How many messages with audio came. */
  mediaMessages = 0
  readonly #carrier: Carrier
  #running: Fiber.RuntimeFiber<void> | undefined
  #stream: Stream | undefined
  #heard: Array<Uint8Array> = []
  #sequence = 0
  #chunk = 0

  constructor(
    carrier: Carrier,
    options: Pick<EmulatedCall, "from" | "to" | "direction"> & {
      readonly statusCallback?: string | undefined
      readonly parentSid?: string
    }
  ) {
    this.#carrier = carrier
    this.from = options.from
    this.to = options.to
    this.direction = options.direction
    this.statusCallback = options.statusCallback
    this.parentSid = options.parentSid
  }

  get isOver(): boolean {
    return !["queued", "ringing", "in-progress"].includes(this.status)
  }

  get hasStream(): boolean {
    return this.#stream !== undefined
  }

  /** How often the phone heard a gap in the agent's audio. */
  get gaps(): number {
    return this.#stream?.playback.gaps() ?? 0
  }

  /** The fields of a request about this call. */
  get fields(): Readonly<Record<string, string>> {
    return {
      ApiVersion: "2010-04-01",
      AccountSid: this.#carrier.accountSid,
      CallSid: this.sid,
      CallStatus: this.status,
      Direction: this.direction,
      From: this.from,
      To: this.to
    }
  }

  tellStatus(more: Readonly<Record<string, string>> = {}): Effect.Effect<void> {
    const { statusCallback } = this
    if (statusCallback === undefined) return Effect.void
    return Effect.asVoid(this.#carrier.post(statusCallback, { ...this.fields, ...more }))
  }

  /** Carries out a document in place of the present one. */
  execute(document: string): void {
    const former = this.#running
    this.#running = this.#carrier.fork(
      Effect.gen(this, function* () {
        if (former !== undefined) yield* Fiber.interrupt(former)
        yield* this.#closeStream
        for (const verb of verbsOf(document)) {
          const next = yield* this.#carryOut(verb)
          if (this.isOver) return
          if (next !== undefined) {
            this.#running = undefined
            return this.execute(next)
          }
        }
        this.#running = undefined
        yield* this.end("completed")
      })
    )
  }

  /** Ends the call, and reports its status. */
  end(status: EmulatedCall["status"]): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      if (this.isOver) return
      this.status = status
      yield* Deferred.succeed(this.ended, undefined)
      const running = this.#running
      this.#running = undefined
      if (running !== undefined) this.#carrier.fork(Effect.asVoid(Fiber.interrupt(running)))
      yield* this.#closeStream
      yield* this.tellStatus()
    })
  }

  /** The media connection breaks, without `stop`. */
  readonly breakStream: Effect.Effect<void> = Effect.suspend(() => {
    this.saysStop = false
    return Effect.zipRight(
      this.#closeStream,
      Effect.sync(() => {
        this.saysStop = true
      })
    )
  })

  /** Sends a message as it is. */
  sendRaw(message: object): void {
    this.#stream?.send(message)
  }

  /** Sends a frame as the packet that is `back` packets older. */
  sendAudio(frame: Uint8Array, back = 0): void {
    const stream = this.#stream
    if (stream === undefined) return
    if (back === 0) this.#chunk++
    const timestamp = Math.max(0, Math.round(performance.now() - stream.startedAt) - 20 * back)
    this.#send("media", {
      media: {
        track: "inbound",
        chunk: String(this.#chunk - back),
        timestamp: String(timestamp),
        payload: Buffer.from(frame).toString("base64")
      }
    })
  }

  /** The next packet comes after one that is on its way. */
  skipChunk(): void {
    this.#chunk++
  }

  get phone(): PhoneCall {
    return {
      state: () => {
        if (this.isRejected) return "rejected"
        if (this.isOver) return "ended"
        if (this.status === "in-progress") return "answered"
        return this.status === "ringing" ? "ringing" : "dialling"
      },
      send: (frame) => Effect.sync(() => this.sendAudio(frame)),
      heard: () => this.heard(),
      hangup: Effect.suspend(() => this.end(this.status === "in-progress" ? "completed" : "canceled")),
      drop: Effect.suspend(() => {
        this.saysStop = false
        return this.end("failed")
      }),
      press: (digits) =>
        Effect.sync(() => {
          for (const digit of digits) this.#send("dtmf", { dtmf: { track: "inbound_track", digit } })
        }),
      digits: () => heardDigits(this.heard()),
      garbage: Effect.sync(() => {
        this.sendRaw({ event: "media" })
        this.sendRaw({ event: "unknown", media: 1 })
        this.#send("media", { media: { payload: "***", chunk: "x", timestamp: "-1" } })
      })
    }
  }

  heard(): Uint8Array {
    return new Uint8Array(Buffer.concat([...this.#heard, this.#stream?.playback.heard() ?? new Uint8Array()]))
  }

  #send(event: string, part: object): void {
    const stream = this.#stream
    stream?.send({ event, sequenceNumber: String(++this.#sequence), streamSid: stream.sid, ...part })
  }

  #carryOut(verb: Verb): Effect.Effect<string | undefined> {
    return Effect.gen(this, function* () {
      switch (verb.verb) {
        case "Connect":
          yield* this.#connect(verb)
          return undefined
        case "Redirect":
          return (yield* this.#carrier.post(verb.url, this.fields)) ?? "<Response/>"
        case "Dial":
          return yield* this.#dial(verb)
        case "Reject":
          this.isRejected = true
          yield* this.end(verb.reason === "busy" ? "busy" : "failed")
          return undefined
        case "Hangup":
          yield* this.end("completed")
          return undefined
      }
    })
  }

  #dial(verb: Extract<Verb, { verb: "Dial" }>): Effect.Effect<string | undefined> {
    return Effect.gen(this, function* () {
      const leg = this.#carrier.ring(this, verb)
      yield* Effect.raceFirst(Deferred.await(leg.ended), Deferred.await(this.ended)).pipe(
        Effect.onInterrupt(() => leg.end(leg.status === "in-progress" ? "completed" : "canceled"))
      )
      yield* leg.end(leg.status === "in-progress" ? "completed" : "canceled")
      const fields = { ...this.fields, DialCallSid: leg.sid, DialCallStatus: leg.status }
      const next = yield* this.#carrier.post(verb.action, fields)
      return this.isOver ? undefined : (next ?? "<Response/>")
    })
  }

  /** Opens the media stream, and waits until it ends. */
  #connect({ parameters, url }: Extract<Verb, { verb: "Connect" }>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      if (this.refusesStream) {
        this.status = "in-progress"
        return
      }
      const scope = yield* Scope.make()
      const sid = newSid("MZ")
      const closed = yield* Deferred.make<void>()
      const playback = yield* emulatedPlayback({
        frameBytes: 160,
        onMark: (name) => this.#send("mark", { mark: { name } })
      }).pipe(Scope.extend(scope))
      const opened = yield* WebSocketClient.open({
        url,
        failures,
        onMessage: (message) => {
          const { event, mark, media, streamSid } = JSON.parse(String(message))
          if (streamSid !== sid) return
          if (event === "media") {
            this.mediaMessages++
            playback.audio(Buffer.from(media.payload, "base64"))
          } else if (event === "mark") playback.mark(mark.name)
          else if (event === "clear") playback.clear()
        },
        onClosed: () => Effect.runSync(Deferred.succeed(closed, undefined))
      }).pipe(Scope.extend(scope), Effect.option)
      if (opened._tag === "None") return yield* Scope.close(scope, Exit.void)
      const socket = opened.value
      const send = (message: object) => socket.send(JSON.stringify(message))
      this.#sequence = 0
      this.#chunk = 0
      this.streams++
      this.#stream = { sid, scope, send, playback, closed, startedAt: performance.now() }
      send({ event: "connected", protocol: "Call", version: "1.0.0" })
      this.#send("start", {
        start: {
          accountSid: this.#carrier.accountSid,
          streamSid: sid,
          callSid: this.sid,
          tracks: ["inbound"],
          mediaFormat: { encoding: "audio/x-mulaw", sampleRate: 8000, channels: 1 },
          customParameters: parameters
        }
      })
      this.status = "in-progress"
      yield* Deferred.succeed(this.answered, undefined)
      yield* Deferred.await(closed)
      yield* this.#closeStream
      if (this.forgets) return yield* Effect.never
    })
  }

  readonly #closeStream: Effect.Effect<void> = Effect.suspend(() => {
    const stream = this.#stream
    if (stream === undefined) return Effect.void
    if (this.saysStop) this.#send("stop", { stop: { accountSid: this.#carrier.accountSid, callSid: this.sid } })
    this.#heard.push(stream.playback.heard())
    this.#stream = undefined
    return Effect.zipRight(Deferred.succeed(stream.closed, undefined), Scope.close(stream.scope, Exit.void))
  }).pipe(Effect.uninterruptible)
}

import { randomBytes } from "node:crypto"
import { type AudioFormat, frameBytes } from "@svc/providers/Audio"
import type { RouteSocket } from "@svc/providers/Route"
import { type CallEvent, CallGone, type CallLeg, type CallView, type IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import { Allowance } from "./Allowance.ts"
import { MessageLog } from "./MessageLog.ts"
import { type CallMessage, type LinkMessage, type PageMessage, readPageMessage } from "./PageMessage.ts"

/** The format of the audio in both directions. */
export const format: AudioFormat = { encoding: "pcm16", sampleRate: 16_000 }

const audioBytes = frameBytes(format)
/** The most frames in a message: those before a sound that the page holds back, 300 ms, and the first of the sound. */
const mostFrames = 16

/** How much of the agent's audio the page has before it is played, in ms: in messages of 60 ms, and 60 ms against jitter. */
const aheadMs = 120

/** Close codes of the socket that the page explains. */
export const closeCodes = {
  /** The page was replaced by a reconnection of its own. */
  replaced: 4000,
  /** A message that is none of the protocol, or too many of them. */
  protocol: 4400,
  /** The page does not read. */
  slow: 4408,
  /** The call of a reconnection is over, or was never here. */
  gone: 4410
} as const

/** How long a page may be silent until the line counts as interrupted, in ms. */
const silentMs = 1500
/** How long a page has to reconnect, in ms. */
export const resumeMs = 10_000
/** The page is sent a ping this often, in ms, so that it notices a broken line. */
const pingMs = 1000
/** Unacknowledged bytes from which a page counts as not reading: 4 s of audio. */
const maxUnread = 128 * 1024
/** Events that are kept until a listener is installed: 10 s of audio. */
const maxBacklog = 500
/** Marks that may be pending. */
const maxMarks = 100

/** The ways in which a page's socket says that the person has left: a close by the page, and a page that is left. */
const left: ReadonlySet<number> = new Set([1000, 1001, 1005])

/** What a call needs of the network. */
export interface CallOptions {
  /** The token of the call link. */
  readonly link: string
  /** Milliseconds. */
  readonly now: () => number
  /** The call needs nothing more: it is over, and the page knows or is gone. */
  readonly onDone: () => void
  /** The engine refused the call. */
  readonly onRefused: () => void
  /** The engine has admitted or refused the call, also one whose page has left. */
  readonly onDecided: () => void
}

/**
 * A call of a page. The page may lose its socket and reconnect within 10 s: what it has missed is then sent again, so that
 * no audio is lost or heard twice. Meanwhile the leg carries no media.
 *
 * | state    | event                                  | next     | page receives  | engine receives |
 * |----------|----------------------------------------|----------|----------------|-----------------|
 * | offered  | the engine answers                     | answered | answered       |                 |
 * | offered  | the engine rejects                     | over     | refused        |                 |
 * | offered  | the page hangs up, or is gone for 10 s | over     | ended          | canceled        |
 * | answered | the page hangs up                      | over     | ended          | Ended hangup    |
 * | answered | the engine hangs up                    | over     | ended          |                 |
 * | answered | the page is gone for 10 s              | over     | ended          | Ended failed    |
 * | answered | nothing of the page for 1.5 s          | answered |                | Media off       |
 * | answered | a message of the page                  | answered |                | Media on        |
 * | any      | the page violates the protocol         | over     | close 4400     | Ended failed    |
 */
export class BrowserCall {
  /** The key with which the page reconnects. */
  readonly key = randomBytes(18).toString("base64url")
  readonly #options: CallOptions
  readonly #log = new MessageLog()
  readonly #canceled = Deferred.unsafeMake<void>(FiberId.none)
  #state: "offered" | "answered" | "over" = "offered"
  #socket: RouteSocket | undefined
  #heardAt: number
  #pingedAt: number
  /** The line is interrupted. */
  #isAway = false
  #doneAt: number | undefined
  #listener: ((event: CallEvent) => void) | undefined
  #backlog: Array<CallEvent> = []
  /** Names of the marks that are pending, in order. */
  #marks: Array<string> = []
  /** The number of the page's last numbered message. */
  #controls = 0
  #activity = ""
  readonly #audioAllowance: Allowance
  readonly #textAllowance: Allowance

  constructor(socket: RouteSocket, options: CallOptions) {
    const now = options.now()
    this.#options = options
    this.#heardAt = now
    this.#pingedAt = now
    this.#audioAllowance = new Allowance({ perSecond: 60, burst: 600, now })
    this.#textAllowance = new Allowance({ perSecond: 50, burst: 500, now })
    this.#attach(socket)
    this.#send({ event: "calling", resume: this.key, resume_within_ms: resumeMs })
  }

  get link(): string {
    return this.#options.link
  }

  /** The call as the engine sees it before it answers. */
  get incoming(): IncomingCall {
    return {
      id: this.key.slice(0, 12),
      from: null,
      to: "",
      link: this.link,
      headers: {},
      ringing: (call_id) => {
        this.#options.onDecided()
        if (this.#state === "offered") this.#send({ event: "ringing", call_id })
      },
      answer: ({ formats }) =>
        Effect.suspend(() => {
          if (this.#state !== "offered") return Effect.fail(new CallGone({ reason: "the caller has left" }))
          if (!formats.some(({ encoding, sampleRate }) => encoding === "pcm16" && sampleRate === format.sampleRate)) {
            return Effect.fail(new CallGone({ reason: "the page needs PCM16 at 16 kHz", failed: true }))
          }
          this.#state = "answered"
          this.#send({ event: "answered" })
          if (this.#isAway) this.#emit({ _tag: "Media", on: false })
          return Effect.succeed(this.#leg)
        }),
      reject: (cause) => {
        this.#options.onDecided()
        if (this.#state !== "offered") return
        this.#options.onRefused()
        this.#end({ event: "refused", cause })
      },
      canceled: Deferred.await(this.#canceled)
    }
  }

  /** The page has reconnected, and has the first `received` messages. False: it cannot go on. */
  resume(socket: RouteSocket, received: number): boolean {
    if (!this.#log.acknowledge(received)) return false
    const former = this.#socket
    this.#attach(socket)
    former?.close(closeCodes.replaced, "the page has reconnected")
    this.#sendNow({ event: "resumed", n: this.#controls })
    for (const message of this.#log.pending) socket.send(message)
    if (this.#state === "over") this.#finish()
    else this.#hear(this.#options.now())
    return true
  }

  /** Looks whether the page is still there; called a few times a second. */
  check(): void {
    const now = this.#options.now()
    if (this.#doneAt !== undefined) {
      if (now - this.#doneAt >= resumeMs) this.#options.onDone()
      return
    }
    if (now - this.#heardAt >= resumeMs) this.#fail("the page was gone for 10 s")
    else if (now - this.#heardAt >= silentMs) this.#interrupt()
    if (this.#socket !== undefined && now - this.#pingedAt >= pingMs) {
      this.#pingedAt = now
      this.#sendNow({ event: "ping" })
    }
  }

  /** The server stops. */
  shutDown(): void {
    if (this.#state !== "over") this.#fail("the server stopped", "shutdown")
  }

  #attach(socket: RouteSocket): void {
    this.#socket = socket
    socket.onMessage((data) => {
      if (this.#socket === socket && this.#state !== "over") this.#receive(data)
    })
    socket.onClose((code) => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      if (this.#state === "over") return
      if (left.has(code)) this.#hangUp()
      else this.#interrupt()
    })
  }

  #receive(data: string | Uint8Array): void {
    const now = this.#options.now()
    if (typeof data !== "string") {
      this.#receiveAudio(data, now)
      return
    }
    if (!this.#textAllowance.take(now)) {
      this.#violate("too many messages")
      return
    }
    this.#hear(now)
    const message = readPageMessage(data)
    if (message === undefined) this.#violate("a message is not of the protocol")
    else this.#obey(message)
  }

  #receiveAudio(payload: Uint8Array, now: number): void {
    const frames = payload.length / audioBytes
    if (!Number.isInteger(frames) || frames < 1 || frames > mostFrames) {
      this.#violate(`audio must come in messages of ${audioBytes} bytes, or of 2 to ${mostFrames} times as many`)
    } else if (this.#audioAllowance.take(now, frames)) {
      this.#hear(now)
      this.#emit({ _tag: "Audio", payload })
    } else this.#violate("too many messages")
  }

  #obey(message: PageMessage): void {
    if ("n" in message) {
      // It was sent again, because the page did not know that it had arrived.
      if (message.n <= this.#controls) return
      this.#controls = message.n
    }
    switch (message.event) {
      case "mark": {
        const index = this.#marks.indexOf(message.name)
        // Confirmed in order: those before it were played too.
        for (const name of this.#marks.splice(0, index + 1)) this.#emit({ _tag: "Mark", name, outcome: "played" })
        return
      }
      case "dtmf":
        this.#emit({ _tag: "Dtmf", digit: message.digit, source: "signaling" })
        return
      case "hangup":
        this.#hangUp()
        return
      case "ack":
        if (!this.#log.acknowledge(message.received)) this.#violate("ack of messages that were not sent")
        return
      case "ping":
        return
    }
  }

  get #leg(): CallLeg {
    return {
      format,
      marks: "exact",
      aheadMs,
      listen: (listener) => {
        this.#listener = listener
        for (const event of this.#backlog.splice(0)) listener(event)
      },
      send: (frame) => {
        // A copy: the engine reuses the bytes.
        if (this.#state === "answered") this.#pass(frame.slice())
      },
      mark: (name) => {
        if (this.#state !== "answered") return
        if (this.#marks.length === maxMarks) this.#marks.shift()
        this.#marks.push(name)
        this.#send({ event: "mark", name })
      },
      clear: () => {
        if (this.#state !== "answered") return
        this.#send({ event: "clear" })
        for (const name of this.#marks.splice(0)) this.#emit({ _tag: "Mark", name, outcome: "cleared" })
      },
      hangup: (reason) => {
        if (this.#state === "answered") this.#end({ event: "ended", reason })
      },
      sendDtmf: (digits) => {
        if (this.#state === "answered") this.#send({ event: "dtmf", digits })
      },
      show: (view) => {
        if (this.#state === "answered") this.#show(view)
      }
    }
  }

  #show(view: CallView): void {
    switch (view._tag) {
      case "Activity":
        if (view.activity === this.#activity) return
        this.#activity = view.activity
        this.#send({ event: "activity", activity: view.activity })
        return
      case "Saying":
        this.#send({ event: "saying", role: view.role, text: view.text })
        return
      case "Said":
        this.#send({ event: "said", role: view.role, text: view.text })
        return
      case "Latency":
        this.#send({ event: "latency", ms: view.ms })
        return
    }
  }

  /** The page is there. */
  #hear(now: number): void {
    this.#heardAt = now
    if (!this.#isAway) return
    this.#isAway = false
    if (this.#state === "answered") this.#emit({ _tag: "Media", on: true })
  }

  #interrupt(): void {
    if (this.#isAway) return
    this.#isAway = true
    if (this.#state === "answered") this.#emit({ _tag: "Media", on: false })
  }

  #hangUp(): void {
    const wasAnswered = this.#state === "answered"
    this.#end({ event: "ended", reason: "caller-hangup" })
    if (wasAnswered) this.#deliver({ _tag: "Ended", cause: "hangup" })
  }

  /** `shown`: the reason by which the page chooses its text. */
  #fail(reason: string, shown: "error" | "shutdown" = "error"): void {
    const wasAnswered = this.#state === "answered"
    this.#end({ event: "ended", reason: shown })
    if (wasAnswered) this.#deliver({ _tag: "Ended", cause: "failed", reason })
  }

  #violate(reason: string): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close(closeCodes.protocol, reason)
    this.#fail(reason)
  }

  #end(message: CallMessage): void {
    if (this.#state === "over") return
    const wasOffered = this.#state === "offered"
    this.#send(message)
    this.#state = "over"
    this.#doneAt = this.#options.now()
    this.#marks = []
    if (wasOffered && message.event !== "refused") Deferred.unsafeDone(this.#canceled, Effect.void)
    if (this.#socket !== undefined) this.#finish()
  }

  /** The page knows that the call is over. */
  #finish(): void {
    this.#socket?.close(1000, "the call is over")
    this.#options.onDone()
  }

  #send(message: CallMessage): void {
    this.#pass(JSON.stringify(message))
  }

  #pass(message: string | Uint8Array): void {
    this.#log.add(message)
    if (this.#log.bytes <= maxUnread) this.#socket?.send(message)
    else if (this.#socket !== undefined) {
      const slow = this.#socket
      this.#socket = undefined
      slow.close(closeCodes.slow, "the page does not read")
      this.#interrupt()
    }
  }

  /** Sends a message that is not sent again. */
  #sendNow(message: LinkMessage): void {
    this.#socket?.send(JSON.stringify(message))
  }

  #emit(event: CallEvent): void {
    if (this.#state === "answered") this.#deliver(event)
  }

  #deliver(event: CallEvent): void {
    if (this.#listener !== undefined) {
      this.#listener(event)
      return
    }
    if (this.#backlog.length === maxBacklog) this.#backlog.shift()
    // The payload is valid only during the call.
    this.#backlog.push(event._tag === "Audio" ? { ...event, payload: new Uint8Array(event.payload) } : event)
  }
}

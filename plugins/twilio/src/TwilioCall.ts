import { mulaw8k } from "@svc/providers/Audio"
import { aheadMs } from "@svc/providers/BatchedMedia"
import { LegEvents } from "@svc/providers/LegEvents"
import type { RouteSocket } from "@svc/providers/Route"
import type { CallEvent, CallLeg, TransferState } from "@svc/providers/Telephony"
import type { CallNetwork, ExpectedStream, StartedCall } from "./CallNetwork.ts"
import { endOf, type FinalStatus, finalStatus } from "./CallStatus.ts"
import { DestinationWatch } from "./DestinationWatch.ts"
import { MediaStream } from "./MediaStream.ts"
import * as Twiml from "./Twiml.ts"

/** How long after its time audio in Twilio's buffer is played, in milliseconds. */
const playoutDelayMs = 20
/** How long a broken stream may take to be replaced, in milliseconds. */
const returnMs = 4000
/** A stream that breaks after it has lasted this long, in milliseconds, is replaced again. */
const steadyMs = 30_000
/** When a stream has sent nothing for this long, in milliseconds, Twilio is asked: it sends audio all the time. */
const silentMs = 5000
/** How often Twilio is asked for the state of a transferred call, in milliseconds: a webhook may be lost. */
const transferredMs = 60_000

/**
 * An answered call, with its media stream.
 *
 * | state        | event                                        | next         | engine receives             |
 * |--------------|----------------------------------------------|--------------|-----------------------------|
 * | live         | `stop`, a final status                       | over         | Ended                       |
 * | live         | the socket breaks                            | lost         | Media off                   |
 * | live         | nothing for 5 s                              | live         | (Twilio is asked)           |
 * | live         | transfer                                     | transferring |                             |
 * | lost         | Twilio asks what to do, or says that the call goes on | lost | (a new stream is requested) |
 * | lost         | a new stream                                 | live         | Media on                    |
 * | lost         | no stream for 4 s, or a second loss          | over         | Ended failed                |
 * | transferring | the stream ends                              | transferring | Media off                   |
 * | transferring | the destination answers                      | transferred  | completed                   |
 * | transferring | every 2 s without a stream                   | transferring | (Twilio is asked)           |
 * | transferring | the destination does not answer              | returning    |                             |
 * | returning    | a new stream                                 | live         | Media on, then the outcome  |
 * | transferred  | one party hangs up                           | over         | Ended                       |
 * | any          | the engine hangs up                          | over         |                             |
 */
export class TwilioCall {
  readonly sid: string
  readonly #network: CallNetwork
  readonly #callerId: string | undefined
  readonly #stream: MediaStream
  #state: "live" | "lost" | "transferring" | "returning" | "transferred" | "over" = "live"
  readonly #events = new LegEvents()
  #hasMedia = true
  #hasReturned = false
  /** When the present state is given up or looked at; undefined: never. */
  #due: number | undefined
  #isAsking = false
  #hasRung = false
  /** While the outcome of a transfer is awaited. */
  #destinationWatch: DestinationWatch | undefined
  /** The outcome of a failed transfer, which is reported when the stream is back. */
  #outcome: { readonly state: TransferState; readonly reason: string } | undefined
  /** A new stream that is expected. */
  #expected: ExpectedStream | undefined

  constructor(options: StartedCall & { readonly network: CallNetwork }) {
    const { network } = options
    this.sid = options.sid
    this.#network = network
    this.#callerId = options.callerId
    this.#stream = new MediaStream({
      now: network.now,
      flushAfter: network.flushAfter,
      listener: {
        onEvent: (event) => this.#emit(event),
        onStop: () => this.#stopped(),
        onBroken: () => this.#broken()
      }
    })
    this.leg = this.#makeLeg()
    this.#stream.attach(options.socket, options.streamSid)
  }

  get isOver(): boolean {
    return this.#state === "over"
  }

  /** The leg for the engine. */
  readonly leg: CallLeg

  /** A status of Twilio that no other follows. */
  ended(status: FinalStatus, code?: string): void {
    const cause = endOf(status)
    this.#end({
      _tag: "Ended",
      cause,
      ...(code === undefined ? {} : { code }),
      ...(cause === "failed" ? { reason: "Twilio ended the call as failed" } : {})
    })
  }

  /** The stream has ended, and Twilio asks what to do next. */
  next(): string {
    if (this.#state === "live") this.#lose()
    if (this.#state === "lost" || this.#state === "returning") return this.#expectStream()
    return Twiml.hangup
  }

  /** The state of the call to the destination of a transfer. */
  destination(status: string): void {
    if (this.#state !== "transferring") return
    if (status === "ringing" && !this.#hasRung) {
      this.#hasRung = true
      this.#emit({ _tag: "TransferProgress", state: "ringing" })
    }
    if (status === "in-progress" || status === "answered") this.#complete()
    // Perhaps because the caller hung up; else Twilio reports the outcome next.
    else if (finalStatus(status) !== undefined) this.#ask()
  }

  /** The end of a transfer's `<Dial>`; `isGone`: the caller has hung up. The answer is what Twilio does then. */
  dialled(status: string, isGone: boolean): string {
    if (isGone) {
      this.#end({ _tag: "Ended", cause: "hangup" })
      return Twiml.hangup
    }
    // The request came twice.
    if (this.#state === "returning") return this.#expectStream()
    if (this.#state === "transferring" && status !== "completed" && status !== "answered") {
      const state = status === "busy" || status === "no-answer" ? status : "failed"
      return this.#return(state, `the destination's call ended as ${status}`)
    }
    if (this.#state === "transferring") this.#complete()
    this.#end({ _tag: "Ended", cause: "hangup" })
    return Twiml.hangup
  }

  /** Twilio's own detection of who answered. */
  answerer(answeredBy: string): void {
    const verdict =
      answeredBy === "human" || answeredBy === "fax"
        ? answeredBy
        : answeredBy.startsWith("machine")
          ? "machine"
          : "unknown"
    this.#emit({ _tag: "Answerer", verdict })
  }

  /** Called a few times a second. */
  check(): void {
    const now = this.#network.now()
    if (this.#state === "live" && now - this.#stream.heardAt >= silentMs) {
      this.#stream.heardAt = now
      this.#ask()
    }
    if (this.#state === "transferring") {
      this.#destinationWatch?.check(this.#stream.isOpen)
      return
    }
    if (this.#due === undefined || now < this.#due) return
    this.#due = undefined
    if (this.#state === "transferred") {
      this.#due = now + transferredMs
      this.#ask()
    } else this.#fail("Twilio did not open a new media stream in time")
  }

  /** The server stops, or the call was given up. */
  abandon(reason: string): void {
    if (this.#state === "over") return
    this.#fail(reason)
  }

  #makeLeg(): CallLeg {
    return {
      format: mulaw8k,
      marks: "echoed",
      playoutDelayMs,
      aheadMs,
      carrierCallId: this.sid,
      listen: this.#events.listen,
      send: (frame) => {
        if (this.#state !== "over") this.#stream.send(frame)
      },
      mark: (name) => {
        if (this.#state !== "over") this.#stream.mark(name)
      },
      clear: () => {
        if (this.#state !== "over") this.#stream.clear()
      },
      hangup: () => {
        if (this.#state === "over") return
        this.#hangUp()
      },
      sendDtmf: (digits) => {
        if (this.#state !== "over") this.#stream.press(digits)
      },
      transferBlind: (target) => this.#transfer(target)
    }
  }

  #transfer(target: string): void {
    if (this.#state !== "live") {
      if (this.#state !== "over") {
        this.#emit({ _tag: "TransferProgress", state: "failed", reason: "the call has no media stream" })
      }
      return
    }
    this.#state = "transferring"
    this.#hasRung = false
    this.#destinationWatch = new DestinationWatch({
      network: this.#network,
      sid: this.sid,
      onAnswered: () => this.#complete(),
      onGivenUp: () => {
        const twiml = this.#return("no-answer", "Twilio did not tell the outcome of the transfer in time")
        this.#network.update(this.sid, twiml, (reason) => this.#fail(reason))
      }
    })
    this.#network.update(this.sid, this.#network.dial(this.sid, target, this.#callerId), (reason) => {
      if (this.#state !== "transferring") return
      // It was carried out after all, or the call is over.
      if (!this.#stream.isOpen) return this.#ask()
      this.#state = "live"
      this.#destinationWatch?.end()
      this.#emit({ _tag: "TransferProgress", state: "failed", reason })
    })
  }

  /** The destination has answered: the caller is connected to it. */
  #complete(): void {
    this.#state = "transferred"
    this.#destinationWatch?.end()
    this.#due = this.#network.now() + transferredMs
    this.#detach()
    this.#emit({ _tag: "TransferProgress", state: "completed" })
  }

  /** The transfer has failed: the caller comes back to the agent over a new stream. */
  #return(state: TransferState, reason: string): string {
    this.#detach()
    this.#destinationWatch?.end()
    this.#state = "returning"
    this.#outcome = { state, reason }
    this.#due = this.#network.now() + returnMs
    return this.#expectStream()
  }

  /** Goes on without the stream. */
  #detach(): void {
    this.#stream.detach()
    if (!this.#hasMedia || this.#state === "over") return
    this.#hasMedia = false
    this.#emit({ _tag: "Media", on: false })
  }

  #stopped(): void {
    // A transfer takes the call from the stream; otherwise the call is over.
    if (this.#state === "live") this.#end({ _tag: "Ended", cause: "hangup" })
    else this.#detach()
  }

  #broken(): void {
    if (this.#state === "live") this.#lose()
    else this.#detach()
  }

  /** The stream has broken; the call may go on. */
  #lose(): void {
    const now = this.#network.now()
    this.#detach()
    if (this.#hasReturned && now - this.#stream.connectedAt < steadyMs) {
      this.#fail("the media stream broke again")
      return
    }
    this.#state = "lost"
    this.#hasReturned = true
    this.#due = now + returnMs
    this.#network.onInterrupted(this.sid)
    this.#ask()
  }

  #expectStream(): string {
    this.#expected ??= this.#network.connect(this.sid, (socket, { streamSid }) => this.#reconnect(socket, streamSid))
    return this.#expected.twiml
  }

  #reconnect(socket: RouteSocket, streamSid: string): void {
    this.#expected = undefined
    if (this.#state !== "lost" && this.#state !== "returning") {
      socket.close(1000, "the stream is over")
      return
    }
    this.#state = "live"
    this.#due = undefined
    this.#stream.attach(socket, streamSid)
    this.#hasMedia = true
    this.#emit({ _tag: "Media", on: true })
    const outcome = this.#outcome
    this.#outcome = undefined
    if (outcome !== undefined) this.#emit({ _tag: "TransferProgress", ...outcome })
  }

  /** Asks Twilio for the state. One that is lost and goes on gets a new stream. */
  #ask(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#network.ask(this.sid, (status, goesOn) => {
      this.#isAsking = false
      if (status !== undefined) this.ended(status)
      // Twilio has not asked for the next instruction yet.
      else if (goesOn && this.#state === "lost" && this.#expected === undefined) {
        this.#network.update(this.sid, this.#expectStream(), () => {})
      }
    })
  }

  #fail(reason: string): void {
    if (this.#state === "over") return
    this.#hangUp()
    this.#events.emit({ _tag: "Ended", cause: "failed", reason })
  }

  /** The stream stays open until Twilio has ended the call: else Twilio would ask what to do next. */
  #hangUp(): void {
    this.#network.hangUp(this.sid, () => this.#stream.close())
    this.#finish()
  }

  /** Twilio has ended the call. */
  #end(event: CallEvent): void {
    if (this.#state === "over") return
    this.#finish()
    this.#stream.close()
    this.#events.emit(event)
  }

  #finish(): void {
    this.#state = "over"
    this.#destinationWatch?.end()
    this.#due = undefined
    this.#expected?.forget()
    this.#stream.end()
    this.#network.onOver(this)
  }

  #emit(event: CallEvent): void {
    if (this.#state !== "over") this.#events.emit(event)
  }
}

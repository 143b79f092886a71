import type { RouteSocket } from "@svc/providers/Route"
import type { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import type { Law } from "../Law.ts"
import type { Directory, OtherPhone, RegisteredPhone } from "./Directory.ts"
import { InboundCall } from "./InboundCall.ts"
import type { MediaClock } from "./NetworkClock.ts"
import { type LegRealismOf, PhoneLeg } from "./PhoneLeg.ts"
import { readPhoneMessage, writeMedia, writePhoneMessage } from "./PhoneMessage.ts"
import type { RingFailed } from "./Ringing.ts"
import type { StartTransfer } from "./Transfers.ts"

/** When more bytes wait for a phone that does not read, its call fails. */
const maxBufferedBytes = 1_048_576

/** The maximum length of one `say`, in characters. */
const maxTextLength = 5000

/** The parts of the network that a phone uses. */
export interface NetworkPorts {
  readonly clock: MediaClock
  readonly realism: LegRealismOf
  /** Offers a call to the engine. False when the network is shutting down. */
  readonly offer: (call: IncomingCall) => boolean
  /** Called with the engine's id of a call. */
  readonly onCallId: (callId: string) => void
  /** The registered numbers of the network. */
  readonly directory: Directory<NetworkPhone>
  /** Starts transfers of calls from a number. */
  readonly transfers: (from: string) => StartTransfer
  /** An id and a seed for the next call. */
  readonly nextCall: () => { readonly id: string; readonly seed: number }
  /** Called when the phone has disconnected. */
  readonly onClosed: () => void
}

type Dial = Extract<ClientMessage, { readonly event: "dial" }>
type Register = Extract<ClientMessage, { readonly event: "register" }>

/** Milliseconds of ringing when `ring_ms` is omitted. */
const defaultRingMs = 200

/** The greeting of a voicemail before its beep. */
export const voicemailGreeting = (number: string): string =>
  `You have reached the voicemail of ${number}. Please leave a message after the beep.`

/**
 * A phone on the simulated network: a WebSocket with one call at a time, which can be called at its registered numbers.
 */
export class NetworkPhone implements RegisteredPhone {
  readonly #socket: RouteSocket
  readonly #ports: NetworkPorts
  #call: InboundCall | PhoneLeg | undefined
  /** Calls that ring here and wait for `answer` or `reject`. */
  readonly #ringing = new Map<string, Deferred.Deferred<void, RingFailed>>()
  /** Calls of the voicemail, which do not occupy the phone. */
  readonly #voicemails = new Set<PhoneLeg>()
  /** The phone whose call was transferred to this one. */
  #party: ({ readonly ref: string } & OtherPhone) | undefined
  #closed = false
  /** The number from which the phone last dialled. */
  #number: string | undefined

  constructor(socket: RouteSocket, ports: NetworkPorts) {
    this.#socket = socket
    this.#ports = ports
  }

  /** Starts to receive messages. */
  open(): void {
    this.#socket.onMessage((data) => this.#receive(data))
    this.#socket.onClose(() => {
      this.#closed = true
      this.#ports.directory.unregister(this)
      this.#call?.hangup()
      for (const leg of this.#voicemails) leg.hangup()
      this.#leaveParty()
      for (const decision of this.#ringing.values()) {
        Deferred.unsafeDone(decision, Effect.fail({ outcome: "failed", reason: "the phone is gone" }))
      }
      this.#ports.onClosed()
    })
  }

  readonly busy = (): boolean => this.#call !== undefined || this.#party !== undefined

  readonly decision = (ref: string): Effect.Effect<void, RingFailed> =>
    Effect.suspend(() => {
      const decision = Deferred.unsafeMake<void, RingFailed>(FiberId.none)
      this.#ringing.set(ref, decision)
      return Effect.ensuring(
        Deferred.await(decision),
        Effect.sync(() => this.#ringing.delete(ref))
      )
    })

  readonly join: RegisteredPhone["join"] = (ref, other) => {
    this.#party = { ref, ...other }
    this.send({ event: "answered", call_id: other.callId })
    return {
      say: (text) => this.send({ event: "heard", text, final: true }),
      end: () => {
        if (this.#party?.ref !== ref) return
        this.#party = undefined
        this.send({ event: "hangup", cause: "hangup" })
      }
    }
  }

  /** Answers an outbound call with the phone or its voicemail. Undefined when the phone has disconnected or is busy. */
  connect(call: {
    readonly callId: string
    readonly to: string
    readonly law: Law
    readonly voicemail: boolean
    readonly audio: boolean
  }): PhoneLeg | undefined {
    if (this.#closed || (!call.voicemail && this.busy())) return undefined
    const { seed } = this.#ports.nextCall()
    const made: PhoneLeg = new PhoneLeg({
      impairments: {},
      seed,
      law: call.law,
      realism: this.#ports.realism,
      clock: this.#ports.clock,
      callId: call.callId,
      send: this.send,
      sendMedia: call.audio ? (frame) => this.#write(writeMedia(frame)) : undefined,
      transfer: this.#ports.transfers(call.to),
      onEnded: () => {
        this.#voicemails.delete(made)
        if (this.#call === made) this.#call = undefined
      }
    })
    this.#ports.onCallId(call.callId)
    this.send({ event: "answered", call_id: call.callId })
    if (call.voicemail) {
      this.#voicemails.add(made)
      made.say(voicemailGreeting(call.to))
      made.beep()
    } else this.#call = made
    return made
  }

  /** Shuts the network down for this phone: fails its calls, sends `hangup` and closes the socket. */
  shutDown(): void {
    const reason = "the network was shut down"
    this.#call?.fail(reason)
    for (const leg of this.#voicemails) leg.fail(reason)
    this.#closed = true
    this.#socket.close(1001, reason)
  }

  /** Delivers a text message that is addressed to this phone. */
  text(sms: Omit<Extract<ServerMessage, { readonly event: "sms" }>, "event">): void {
    const isMine = sms.to === this.#number || this.#ports.directory.find(sms.to)?.phone === this
    if (isMine) this.send({ event: "sms", to: sms.to, from: sms.from, message: sms.message })
  }

  #receive(data: string | Uint8Array): void {
    if (this.#closed) return
    const read = readPhoneMessage(data)
    // A phone may send its microphone's audio at any time; without a call it is dropped.
    if (read._tag === "Audio") this.#call?.media(read.bytes)
    else {
      const problem = read._tag === "Malformed" ? read.reason : this.#handle(read.message)
      if (problem !== undefined) this.send({ event: "error", message: problem })
    }
  }

  /** Handles a message. Returns why it is out of place; then it has no effect. */
  #handle(message: Exclude<ClientMessage, { readonly event: "media" }>): string | undefined {
    switch (message.event) {
      case "dial":
        return this.#dial(message)
      case "say":
        return this.#say(message.text)
      case "dtmf":
        return this.#answered("dtmf", (call) => {
          call.dtmf(message.digits)
          return undefined
        })
      case "hangup":
        if (this.#call !== undefined) this.#call.hangup()
        else if (!this.#leaveParty()) return "hangup: there is no call"
        return undefined
      case "register":
        return this.#register(message)
      case "answer":
        return this.#decide(message.event, message.call_ref, Effect.void)
      case "reject":
        return this.#decide(message.event, message.call_ref, Effect.fail(refusal(message.cause)))
    }
  }

  #register({ audio = false, behaviour, numbers, ring_ms = defaultRingMs, ...report }: Register): string | undefined {
    if (numbers.length === 0) return "register.numbers: there is no number"
    if (numbers.some((number) => number.trim() === "")) return "register.numbers: a number is empty"
    if (!(ring_ms >= 0 && ring_ms <= 600_000)) return "register.ring_ms: must be between 0 and 600000"
    const { verdict, verdict_ms: ms = 0 } = report
    if (!(ms >= 0 && ms <= 600_000)) return "register.verdict_ms: must be between 0 and 600000"
    const answerer = verdict === undefined ? undefined : { verdict, ms }
    this.#ports.directory.register(numbers, { phone: this, behaviour, ring_ms, audio, answerer })
    this.send({ event: "registered", numbers })
    return undefined
  }

  #decide(event: string, ref: string, decision: Effect.Effect<void, RingFailed>): string | undefined {
    const waiting = this.#ringing.get(ref)
    if (waiting === undefined) return `${event}.call_ref: no such call rings here`
    this.#ringing.delete(ref)
    Deferred.unsafeDone(waiting, decision)
    return undefined
  }

  /** Hangs up the transferred call. False when there is none. */
  #leaveParty(): boolean {
    const party = this.#party
    if (party === undefined) return false
    this.#party = undefined
    party.left()
    return true
  }

  #dial({ audio, from, jitter_ms, loss, noise_db, to }: Dial): string | undefined {
    if (this.#call !== undefined) return "dial: this phone has a call already"
    if (to.trim() === "") return "dial.to: there is no number"
    const { id, seed } = this.#ports.nextCall()
    const call = new InboundCall({
      id,
      seed,
      to,
      from: from === "" || from === "anonymous" ? null : from,
      impairments: { loss, noise_db, jitter_ms },
      realism: this.#ports.realism,
      clock: this.#ports.clock,
      send: this.send,
      sendMedia: audio === true ? (frame) => this.#write(writeMedia(frame)) : undefined,
      transfer: this.#ports.transfers(from),
      onCallId: this.#ports.onCallId,
      onEnded: () => {
        this.#call = undefined
      }
    })
    this.#call = call
    this.#number = from
    const incoming = call.incoming
    if (!this.#ports.offer(incoming)) incoming.reject("unavailable")
    return undefined
  }

  #say(text: string): string | undefined {
    if (text.length > maxTextLength) return `say.text: at most ${maxTextLength} characters`
    if (text.trim() === "") return "say.text: there is nothing to say"
    if (this.#call === undefined && this.#party !== undefined) {
      this.#party.heard(text)
      return undefined
    }
    return this.#answered("say", (call) => (call.say(text) ? undefined : "say: too much waits to be said already"))
  }

  #answered(event: string, act: (call: InboundCall | PhoneLeg) => string | undefined): string | undefined {
    if (this.#call?.answered === true) return act(this.#call)
    return this.#call === undefined ? `${event}: there is no call` : `${event}: the call is not answered yet`
  }

  readonly send = (message: ServerMessage): void => this.#write(writePhoneMessage(message))

  #write(data: string): void {
    if (this.#closed) return
    if (this.#socket.bufferedBytes() <= maxBufferedBytes) {
      this.#socket.send(data)
      return
    }
    const reason = "the phone does not read what it is sent"
    this.#closed = true
    this.#call?.fail(reason)
    this.#socket.close(1013, reason)
  }
}

/** The outcome of a phone's `reject`. Without a cause the call was declined. */
const refusal = (cause = "rejected"): RingFailed => ({
  outcome: cause === "busy" || cause === "no-answer" ? cause : "rejected",
  reason: cause === "busy" ? "the line is busy" : cause === "no-answer" ? "nobody answers" : "the call was declined"
})

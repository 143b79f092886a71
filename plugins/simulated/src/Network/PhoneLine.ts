import type { RouteSocket } from "@svc/providers/Route"
import type { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { CallLeg, IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import type { Directory, OtherPhone, RegisteredLine } from "./Directory.ts"
import type { MediaClock } from "./NetworkClock.ts"
import { PhoneCall } from "./PhoneCall.ts"
import { PhoneLeg } from "./PhoneLeg.ts"
import { readPhoneMessage, writeMedia, writePhoneMessage } from "./PhoneMessage.ts"
import type { RingFailed } from "./Ringing.ts"
import type { StartTransfer } from "./Transfers.ts"

/** Bytes that may wait for a phone that does not read; then its call fails. */
const longestBuffer = 1_048_576

/** Longest text that is spoken at once, in characters. */
const longestText = 5000

/** What a line needs of its network. */
export interface PhoneLinePorts {
  readonly clock: MediaClock
  /** A phone dialled: offer the call to the engine. False when nobody takes calls any more. */
  readonly offer: (call: IncomingCall) => boolean
  /** The engine gave one of the calls its id. */
  readonly named: (callId: string) => void
  /** The numbers of the network's phones. */
  readonly directory: Directory<PhoneLine>
  /** Transfers of a call from a number. */
  readonly transfers: (from: string) => StartTransfer
  /** Ids and seeds for calls. */
  readonly nextCall: () => { readonly id: string; readonly seed: number }
  /** The line is gone. */
  readonly closed: () => void
}

type Dial = Extract<ClientMessage, { readonly event: "dial" }>
type Register = Extract<ClientMessage, { readonly event: "register" }>

/** How long a phone rings that does not say. */
const defaultRingMs = 200

/** What a voicemail says before it beeps. */
export const voicemailGreeting = (number: string): string =>
  `You have reached the voicemail of ${number}. Please leave a message after the beep.`

/** A phone on the simulated network: one WebSocket that carries one call at a time, and can be called at its numbers. */
export class PhoneLine implements RegisteredLine {
  readonly #socket: RouteSocket
  readonly #ports: PhoneLinePorts
  #call: PhoneCall | PhoneLeg | undefined
  /** Calls that ring here and wait for `answer` or `reject`. */
  readonly #ringing = new Map<string, Deferred.Deferred<void, RingFailed>>()
  /** Calls of the voicemail, which needs no phone. */
  readonly #recorded = new Set<PhoneLeg>()
  /** The phone that was transferred to this one. */
  #party: ({ readonly ref: string } & OtherPhone) | undefined
  #closed = false
  /** The number from which the phone last dialled. */
  #number: string | undefined

  constructor(socket: RouteSocket, ports: PhoneLinePorts) {
    this.#socket = socket
    this.#ports = ports
  }

  /** Begins to listen to the phone. */
  open(): void {
    this.#socket.onMessage((data) => this.#receive(data))
    this.#socket.onClose(() => {
      this.#closed = true
      this.#ports.directory.forget(this)
      this.#call?.hangup()
      for (const leg of this.#recorded) leg.hangup()
      this.#leaveParty()
      for (const decision of this.#ringing.values()) {
        Deferred.unsafeDone(decision, Effect.fail({ outcome: "failed", reason: "the phone is gone" }))
      }
      this.#ports.closed()
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

  readonly join: RegisteredLine["join"] = (ref, other) => {
    this.#party = { ref, ...other }
    this.tell({ event: "answered", call_id: other.callId })
    return {
      say: (text) => this.tell({ event: "heard", text, final: true }),
      end: () => {
        if (this.#party?.ref !== ref) return
        this.#party = undefined
        this.tell({ event: "hangup", cause: "hangup" })
      }
    }
  }

  /** Answers a call of the engine: the phone itself, or its voicemail. Undefined when it cannot any more. */
  connect(call: {
    readonly callId: string
    readonly to: string
    readonly voicemail: boolean
    readonly audio: boolean
  }): CallLeg | undefined {
    if (this.#closed || (!call.voicemail && this.busy())) return undefined
    const { seed } = this.#ports.nextCall()
    const made: PhoneLeg = new PhoneLeg({
      faults: {},
      seed,
      clock: this.#ports.clock,
      callId: call.callId,
      tell: this.tell,
      tellMedia: call.audio ? (frame) => this.#send(writeMedia(frame)) : undefined,
      transfer: this.#ports.transfers(call.to),
      over: () => {
        this.#recorded.delete(made)
        if (this.#call === made) this.#call = undefined
      }
    })
    this.#ports.named(call.callId)
    this.tell({ event: "answered", call_id: call.callId })
    if (call.voicemail) {
      this.#recorded.add(made)
      made.say(voicemailGreeting(call.to))
      made.beep()
    } else this.#call = made
    return made.leg
  }

  /** The network ends: the call fails, the phone is told, its socket closed. */
  shutDown(): void {
    const reason = "the network was shut down"
    this.#call?.fail(reason)
    for (const leg of this.#recorded) leg.fail(reason)
    this.#closed = true
    this.#socket.close(1001, reason)
  }

  /** Shows a text message, if it is to the number of this phone. */
  text(sms: Omit<Extract<ServerMessage, { readonly event: "sms" }>, "event">): void {
    const isMine = sms.to === this.#number || this.#ports.directory.find(sms.to)?.line === this
    if (isMine) this.tell({ event: "sms", to: sms.to, from: sms.from, message: sms.message })
  }

  #receive(data: string | Uint8Array): void {
    if (this.#closed) return
    const read = readPhoneMessage(data)
    // A phone streams its microphone all the time; without a call nobody hears it.
    if (read._tag === "Audio") this.#call?.media(read.bytes)
    else {
      const problem = read._tag === "Malformed" ? read.reason : this.#handle(read.message)
      if (problem !== undefined) this.tell({ event: "error", message: problem })
    }
  }

  /** Does what the phone asks. Otherwise changes nothing and tells why. */
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

  #register({ audio = false, behaviour, numbers, ring_ms = defaultRingMs }: Register): string | undefined {
    if (numbers.length === 0) return "register.numbers: there is no number"
    if (numbers.some((number) => number.trim() === "")) return "register.numbers: a number is empty"
    if (!(ring_ms >= 0 && ring_ms <= 600_000)) return "register.ring_ms: must be between 0 and 600000"
    this.#ports.directory.register(numbers, { line: this, behaviour, ring_ms, audio })
    this.tell({ event: "registered", numbers })
    return undefined
  }

  #decide(event: string, ref: string, decision: Effect.Effect<void, RingFailed>): string | undefined {
    const waiting = this.#ringing.get(ref)
    if (waiting === undefined) return `${event}.call_ref: no such call rings here`
    this.#ringing.delete(ref)
    Deferred.unsafeDone(waiting, decision)
    return undefined
  }

  /** Hangs up on the phone that was transferred to this one. False when there is none. */
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
    const call = new PhoneCall({
      id,
      seed,
      to,
      from: from === "" || from === "anonymous" ? null : from,
      faults: { loss, noise_db, jitter_ms },
      clock: this.#ports.clock,
      tell: this.tell,
      tellMedia: audio === true ? (frame) => this.#send(writeMedia(frame)) : undefined,
      transfer: this.#ports.transfers(from),
      named: this.#ports.named,
      over: () => {
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
    if (text.length > longestText) return `say.text: at most ${longestText} characters`
    if (text.trim() === "") return "say.text: there is nothing to say"
    if (this.#call === undefined && this.#party !== undefined) {
      this.#party.heard(text)
      return undefined
    }
    return this.#answered("say", (call) => (call.say(text) ? undefined : "say: too much waits to be said already"))
  }

  #answered(event: string, act: (call: PhoneCall | PhoneLeg) => string | undefined): string | undefined {
    if (this.#call?.answered === true) return act(this.#call)
    return this.#call === undefined ? `${event}: there is no call` : `${event}: the call is not answered yet`
  }

  readonly tell = (message: ServerMessage): void => this.#send(writePhoneMessage(message))

  #send(data: string): void {
    if (this.#closed) return
    if (this.#socket.bufferedBytes() <= longestBuffer) {
      this.#socket.send(data)
      return
    }
    const reason = "the phone does not read what it is sent"
    this.#closed = true
    this.#call?.fail(reason)
    this.#socket.close(1013, reason)
  }
}

/** What a phone's `reject` means; without a cause the call was declined. */
const refusal = (cause = "rejected"): RingFailed => ({
  outcome: cause === "busy" || cause === "no-answer" ? cause : "rejected",
  reason: cause === "busy" ? "the line is busy" : cause === "no-answer" ? "nobody answers" : "the call was declined"
})

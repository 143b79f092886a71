import type { RouteSocket } from "@svc/providers/Route"
import type { ClientMessage, ServerMessage } from "@svc/providers/SimulatedNetwork"
import type { IncomingCall } from "@svc/providers/Telephony"
import type { MediaClock } from "./NetworkClock.ts"
import { PhoneCall } from "./PhoneCall.ts"
import { readPhoneMessage, writeMedia, writePhoneMessage } from "./PhoneMessage.ts"

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
  /** Ids and seeds for calls. */
  readonly nextCall: () => { readonly id: string; readonly seed: number }
  /** The line is gone. */
  readonly closed: () => void
}

type Dial = Extract<ClientMessage, { readonly event: "dial" }>

/** A phone on the simulated network: one WebSocket that carries one call at a time. */
export class PhoneLine {
  readonly #socket: RouteSocket
  readonly #ports: PhoneLinePorts
  #call: PhoneCall | undefined
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
      this.#call?.hangup()
      this.#ports.closed()
    })
  }

  /** The network ends: the call fails, the phone is told, its socket closed. */
  shutDown(): void {
    const reason = "the network was shut down"
    this.#call?.fail(reason)
    this.#closed = true
    this.#socket.close(1001, reason)
  }

  /** Shows a text message, if it is to the number of this phone. */
  text(sms: Omit<Extract<ServerMessage, { readonly event: "sms" }>, "event">): void {
    if (sms.to === this.#number) this.#tell({ event: "sms", to: sms.to, from: sms.from, message: sms.message })
  }

  #receive(data: string | Uint8Array): void {
    if (this.#closed) return
    const read = readPhoneMessage(data)
    // A phone streams its microphone all the time; without a call nobody hears it.
    if (read._tag === "Audio") this.#call?.media(read.bytes)
    else {
      const problem = read._tag === "Malformed" ? read.reason : this.#handle(read.message)
      if (problem !== undefined) this.#tell({ event: "error", message: problem })
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
        if (this.#call === undefined) return "hangup: there is no call"
        this.#call.hangup()
        return undefined
      default:
        return `${message.event}: this network does not ring phones`
    }
  }

  #dial({ audio, from, jitter_ms, loss, noise_db, to }: Dial): string | undefined {
    if (this.#call !== undefined) return "dial: this phone has a call already"
    if (to.trim() === "") return "dial.to: there is no number"
    const { id, seed } = this.#ports.nextCall()
    const call = new PhoneCall(
      {
        id,
        to,
        from: from === "" || from === "anonymous" ? null : from,
        faults: { loss, noise_db, jitter_ms },
        clock: this.#ports.clock,
        tell: (reply) => this.#tell(reply),
        ...(audio === true ? { tellMedia: (frame: Uint8Array) => this.#send(writeMedia(frame)) } : {}),
        named: this.#ports.named,
        over: () => {
          this.#call = undefined
        }
      },
      seed
    )
    this.#call = call
    this.#number = from
    const incoming = call.incoming
    if (!this.#ports.offer(incoming)) incoming.reject("unavailable")
    return undefined
  }

  #say(text: string): string | undefined {
    if (text.length > longestText) return `say.text: at most ${longestText} characters`
    if (text.trim() === "") return "say.text: there is nothing to say"
    return this.#answered("say", (call) => (call.say(text) ? undefined : "say: too much waits to be said already"))
  }

  #answered(event: string, act: (call: PhoneCall) => string | undefined): string | undefined {
    if (this.#call?.answered === true) return act(this.#call)
    return this.#call === undefined ? `${event}: there is no call` : `${event}: the call is not answered yet`
  }

  #tell(message: ServerMessage): void {
    this.#send(writePhoneMessage(message))
  }

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

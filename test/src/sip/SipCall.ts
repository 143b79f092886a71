import { Effect } from "effect"
import { Inbox } from "../blackbox/Inbox.ts"
import type { RtpPhone } from "./RtpPhone.ts"
import { addressOf, headerOf, mediaOf, methodOf, type SipText, statusOf } from "./SipText.ts"

export type CallState = "dialling" | "ringing" | "answered" | "rejected" | "ended"

/** What a call needs of its phone. */
export interface CallPort {
  readonly contact: string
  readonly via: () => string
  readonly send: (message: SipText) => void
}

export interface CallParties {
  readonly id: string
  /** Ours and the other side's, as they stand in From and To of our requests. */
  readonly local: string
  readonly remote: string
  /** The Request-URI of our requests. */
  readonly target: string
}

const sdpOf = (port: number, direction: string, version: number): string =>
  [
    "v=0",
    `o=- 1 ${version} IN IP4 127.0.0.1`,
    "s=-",
    "c=IN IP4 127.0.0.1",
    "t=0 0",
    `m=audio ${port} RTP/AVP 0 101`,
    "a=rtpmap:0 PCMU/8000",
    "a=rtpmap:101 telephone-event/8000",
    "a=fmtp:101 0-15",
    `a=${direction}`,
    ""
  ].join("\r\n")

const typed = ["content-type", "application/sdp"] as const

/** One call of a phone, from either side. It answers each request in the call with 200, unless `onRequest` has another status. */
export class SipCall {
  readonly #port: CallPort
  readonly #parties: CallParties
  readonly rtp: RtpPhone
  readonly inbox: Inbox<SipText>
  state: CallState = "dialling"
  /** The final status of our INVITE. */
  status = 0
  /** The status for a request, if it is not 200; 0: no answer at all. */
  onRequest: (request: SipText) => number | undefined = () => undefined
  onState: (state: CallState) => void = () => {}
  #remote: string
  #target: string
  #sequence = 0
  #version = 0
  #invite: SipText | undefined

  constructor(port: CallPort, parties: CallParties, rtp: RtpPhone) {
    this.#port = port
    this.#parties = parties
    this.#remote = parties.remote
    this.#target = parties.target
    this.rtp = rtp
    this.inbox = new Inbox(`call ${parties.id}`)
  }

  get id(): string {
    return this.#parties.id
  }

  /** Sends INVITE; also again in the call, with another direction. */
  invite(direction = "sendrecv", headers: SipText["headers"] = []): void {
    this.#version++
    this.#invite = this.request("INVITE", [typed, ...headers], sdpOf(this.rtp.port, direction, this.#version))
  }

  /** Sends a request in the call. */
  request(method: string, headers: SipText["headers"] = [], body = ""): SipText {
    this.#sequence++
    const request = this.#build(method, this.#sequence, this.#port.via(), headers, body)
    this.#port.send(request)
    return request
  }

  /** Sends a request, and returns the final response. */
  ask(method: string, headers: SipText["headers"] = [], body = ""): Effect.Effect<SipText> {
    return Effect.suspend(() => {
      this.request(method, headers, body)
      return this.inbox.next(
        `the response to ${method}`,
        (message) => (statusOf(message) ?? 0) >= 200 && methodOf(message) === method
      )
    })
  }

  /** The next request of this method. */
  until(method: string): Effect.Effect<SipText> {
    return this.inbox.next(method, (message) => message.start.startsWith(`${method} `))
  }

  /** Progress of a transfer to our side, as the recipient of REFER reports it (RFC 3515). */
  notify(status: string, isLast = false): Effect.Effect<SipText> {
    const state = isLast ? "terminated;reason=noresource" : "active;expires=60"
    const headers = [
      ["event", "refer"],
      ["subscription-state", state],
      ["content-type", "message/sipfrag;version=2.0"]
    ] as const
    return this.ask("NOTIFY", headers, `SIP/2.0 ${status}\r\n`)
  }

  hangUp(): void {
    if (this.state !== "answered") return
    this.request("BYE")
    this.#become("ended")
  }

  /** Takes back an INVITE that is not answered. */
  cancel(): void {
    if (this.#invite === undefined) return
    this.#port.send(this.#build("CANCEL", this.#sequence, headerOf(this.#invite, "via")))
  }

  ring(): void {
    this.#answerInvite("180 Ringing")
    this.#become("ringing")
  }

  answer(): void {
    if (this.#invite === undefined) return
    this.rtp.connect(mediaOf(this.#invite.body))
    this.#version++
    this.#answerInvite("200 OK", sdpOf(this.rtp.port, "sendrecv", this.#version))
    this.#become("answered")
  }

  reject(status: string): void {
    this.#answerInvite(status)
    this.#become("rejected")
  }

  /** Takes a message of this call. */
  receive(message: SipText): void {
    const status = statusOf(message)
    if (status === undefined) this.#onRequest(message)
    else if (methodOf(message) === "INVITE") this.#onInviteResponse(message, status)
    this.inbox.push(message)
  }

  #onInviteResponse(message: SipText, status: number): void {
    if (status < 200) {
      if (status >= 180 && this.state === "dialling") this.#become("ringing")
      return
    }
    const number = Number(headerOf(message, "cseq").split(" ")[0])
    if (status >= 300) {
      // The ACK of a refusal belongs to the transaction of the INVITE (RFC 3261, 17.1.1.3).
      const ack = this.#build("ACK", number, headerOf(message, "via"))
      this.#port.send({
        ...ack,
        headers: ack.headers.map(([name, value]) => (name === "to" ? [name, headerOf(message, "to")] : [name, value]))
      })
      this.status = status
      if (this.state !== "answered") this.#become("rejected")
      return
    }
    this.#remote = headerOf(message, "to")
    this.#target = addressOf(headerOf(message, "contact"))
    this.#port.send(this.#build("ACK", number, this.#port.via()))
    this.rtp.connect(mediaOf(message.body))
    this.status = status
    if (this.state !== "ended") this.#become("answered")
  }

  #onRequest(request: SipText): void {
    const method = methodOf(request)
    if (method === "ACK") return
    if (method === "INVITE" && this.#invite === undefined && this.state === "dialling") {
      this.#invite = request
      this.#target = addressOf(headerOf(request, "contact"))
      return
    }
    const wanted = this.onRequest(request) ?? (method === "REFER" ? 202 : 200)
    if (wanted > 0) {
      const isOffer = method === "INVITE" && wanted === 200
      this.#respond(request, `${wanted} Answer`, isOffer ? sdpOf(this.rtp.port, "sendrecv", ++this.#version) : "")
    }
    if (method === "CANCEL" && this.state !== "answered") this.reject("487 Request Terminated")
    if (method === "BYE") this.#become("ended")
  }

  #answerInvite(status: string, sdp = ""): void {
    if (this.#invite !== undefined) this.#respond(this.#invite, status, sdp)
  }

  #respond(request: SipText, status: string, sdp: string): void {
    const copied = request.headers.filter(([name]) => ["via", "record-route", "from", "call-id", "cseq"].includes(name))
    this.#port.send({
      start: `SIP/2.0 ${status}`,
      headers: [
        ...copied,
        ["to", this.#parties.local],
        ["contact", this.#port.contact],
        ...(sdp === "" ? [] : ([typed] as const))
      ],
      body: sdp
    })
  }

  #build(method: string, number: number, via: string, headers: SipText["headers"] = [], body = ""): SipText {
    return {
      start: `${method} ${this.#target} SIP/2.0`,
      headers: [
        ["via", via],
        ["max-forwards", "70"],
        ["from", this.#parties.local],
        ["to", this.#remote],
        ["call-id", this.#parties.id],
        ["cseq", `${number} ${method}`],
        ["contact", this.#port.contact],
        ...headers
      ],
      body
    }
  }

  #become(state: CallState): void {
    this.state = state
    this.onState(state)
  }
}

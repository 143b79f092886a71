import type { OtherBehaviour, Phone, PhoneCall } from "@svc/providers/testing/Phone"
import { Effect, FiberSet, type Scope } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import type * as Message from "../src/message/Message.ts"
import * as Parser from "../src/message/Parser.ts"
import { serialize } from "../src/message/Serializer.ts"
import * as Description from "../src/sdp/Description.ts"
import * as Udp from "../src/transport/Udp.ts"

/** Milliseconds for which a phone plays before it answers. */
const answerAfterMs = 300

/** One phone on ports of its own, which plays before it answers: 183 with a description, acknowledged by PRACK. */
class EarlyPhone {
  #state: ReturnType<PhoneCall["state"]> = "dialling"
  #invite: Message.Request | undefined
  #sequence = 0
  readonly #behaves: OtherBehaviour
  readonly #send: (message: Message.Message) => void
  readonly #sendRtp: (bytes: Uint8Array, port: number) => void
  readonly #sdp: Uint8Array
  readonly #contact: Message.Headers[number]
  /** Runs something after `answerAfterMs`. */
  readonly #later: (run: () => void) => void

  constructor(given: {
    readonly behaves: OtherBehaviour
    readonly port: number
    readonly rtpPort: number
    readonly send: (message: Message.Message) => void
    readonly sendRtp: (bytes: Uint8Array, port: number) => void
    readonly later: (run: () => void) => void
  }) {
    this.#behaves = given.behaves
    this.#send = given.send
    this.#sendRtp = given.sendRtp
    this.#later = given.later
    this.#contact = { name: "contact", value: `<sip:phone@127.0.0.1:${given.port}>` }
    this.#sdp = Buffer.from(
      `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${given.rtpPort} RTP/AVP 8\r\n`
    )
  }

  get state(): ReturnType<PhoneCall["state"]> {
    return this.#state
  }

  receive(message: Message.Message): void {
    if (message._tag === "Response") return
    switch (message.method) {
      case "INVITE": {
        if (this.#invite !== undefined) return
        this.#invite = message
        const reliable = [
          { name: "require", value: "100rel" },
          { name: "rseq", value: "1" }
        ]
        this.#respond(message, 183, reliable, this.#sdp)
        return
      }
      case "PRACK":
        this.#respond(message, 200)
        // Now our description is known to the other side.
        this.#state = "ringing"
        if (this.#behaves === "answers") this.#later(() => this.#answer())
        return
      case "CANCEL":
        this.#respond(message, 200)
        if (this.#invite !== undefined) this.#respond(this.#invite, 487)
        this.#state = "ended"
        return
      case "BYE":
        this.#respond(message, 200)
        this.#state = "ended"
        return
      default:
        return
    }
  }

  /** A frame of A-law audio, before the answer or after it. */
  play(frame: Uint8Array): void {
    if (this.#invite === undefined) return
    const header = Buffer.alloc(12)
    header.writeUInt16BE(0x8008, 0)
    header.writeUInt16BE(++this.#sequence, 2)
    header.writeUInt32BE(this.#sequence * 160, 4)
    header.writeUInt32BE(7, 8)
    this.#sendRtp(Buffer.concat([header, frame]), Description.parse(this.#invite.body)?.sections[0]?.port ?? 0)
  }

  hangup(): void {
    if (this.#state !== "answered" || this.#invite === undefined) return
    this.#state = "ended"
    const [, bye] = Dialog.request(Dialog.ofInvite(this.#invite, "phone"), "BYE")
    const via = { name: "via", value: "SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKbye;rport" }
    this.#send({ ...bye, headers: [via, ...bye.headers] })
  }

  #answer(): void {
    if (this.#state !== "ringing" || this.#invite === undefined) return
    this.#state = "answered"
    // Our description is that of the 183, and is not repeated (RFC 3262, 5).
    this.#respond(this.#invite, 200)
  }

  #respond(to: Message.Request, status: number, headers: Message.Headers = [], body?: Uint8Array): void {
    const typed = body === undefined ? [] : [{ name: "content-type", value: "application/sdp" }]
    const content = { headers: [this.#contact, ...headers, ...typed], ...(body === undefined ? {} : { body }) }
    this.#send(Dialog.respond(to, status, "R", "phone", content))
  }
}

/** Phones that are called by their SIP URI, and play before they answer. They place no calls. */
export const earlyPhones = (): Effect.Effect<Phone, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never>()
    const other = (behaves: OtherBehaviour) =>
      Effect.gen(function* () {
        let caller = { address: "127.0.0.1", port: 0 }
        const udp: Udp.Udp = yield* Udp.listen("127.0.0.1", 0, (bytes, address, port) => {
          caller = { address, port }
          const parsed = Parser.parse(bytes)
          if (parsed._tag === "Message") phone.receive(parsed.message)
        })
        const rtp = yield* Udp.listen("127.0.0.1", 0, () => {})
        const phone = new EarlyPhone({
          behaves,
          port: udp.port,
          rtpPort: rtp.port,
          send: (message) => udp.send(serialize(message), caller.address, caller.port),
          sendRtp: (bytes, port) => rtp.send(bytes, "127.0.0.1", port),
          later: (run) => void fork(Effect.zipRight(Effect.sleep(answerAfterMs), Effect.sync(run)))
        })
        const play = (frame: Uint8Array) => Effect.sync(() => phone.play(new Uint8Array(frame)))
        const call: PhoneCall = {
          state: () => phone.state,
          send: play,
          heard: () => new Uint8Array(),
          hangup: Effect.sync(() => phone.hangup()),
          drop: Effect.void
        }
        yield* Effect.addFinalizer(() => call.hangup)
        return { number: `sip:+12025550199@127.0.0.1:${udp.port}`, call, early: play }
      }).pipe(Effect.orDie)
    return { dial: () => Effect.dieMessage("these phones place no calls"), other }
  })

import { randomBytes } from "node:crypto"
import * as dgram from "node:dgram"
import { Deferred, Effect, type Scope } from "effect"
import { openRtp, type RtpPhone } from "./RtpPhone.ts"
import { SipCall } from "./SipCall.ts"
import { addressOf, headerOf, readSip, type SipText, statusOf, writeSip } from "./SipText.ts"

const random = (): string => randomBytes(8).toString("hex")

/**
 * A SIP phone over UDP that shares no code with the plugin: a trunk or a caller whose every message a test decides. It repeats no
 * message, as nothing is lost on a loopback interface.
 */
export class SipPhone {
  readonly #socket: dgram.Socket
  readonly #calls = new Map<string, SipCall>()
  #server = 0
  /** A call comes, and waits for its answer. */
  onCall: (call: SipCall, invite: SipText) => void = () => {}
  /** Gives the media of a call that comes. */
  mediaOfNext: () => RtpPhone | undefined = () => undefined
  /** Responses to what belongs to no call. */
  onStray: (message: SipText) => void = () => {}
  /** It neither reads nor sends. */
  isDead = false

  constructor(socket: dgram.Socket) {
    this.#socket = socket
    socket.on("error", () => {})
    socket.on("message", (bytes) => {
      if (!this.isDead) this.#receive(readSip(bytes.toString("latin1")))
    })
  }

  get port(): number {
    return this.#socket.address().port
  }

  get contact(): string {
    return `<sip:phone@127.0.0.1:${this.port}>`
  }

  /** The server's port on 127.0.0.1, to which all goes. */
  connect(port: number): void {
    this.#server = port
  }

  via(): string {
    return `SIP/2.0/UDP 127.0.0.1:${this.port};branch=z9hG4bK${random()}`
  }

  send(message: SipText): void {
    if (!this.isDead) this.#socket.send(Buffer.from(writeSip(message), "latin1"), this.#server, "127.0.0.1")
  }

  /** Calls a number from another, with these headers in the INVITE; the call gets what comes. */
  dial(to: string, from: string, rtp: RtpPhone, headers: SipText["headers"] = []): SipCall {
    const uri = `sip:${to}@127.0.0.1:${this.#server}`
    const parties = {
      id: `${random()}@127.0.0.1`,
      local: `<sip:${from}@127.0.0.1:${this.port}>;tag=${random()}`,
      remote: `<${uri}>`,
      target: uri
    }
    const call = this.#open(parties, rtp)
    call.invite("sendrecv", headers)
    return call
  }

  /** Forgets a call: what comes for it is stray. */
  forget(call: SipCall): void {
    this.#calls.delete(call.id)
  }

  close(): void {
    this.#socket.close()
  }

  #open(parties: ConstructorParameters<typeof SipCall>[1], rtp: RtpPhone): SipCall {
    const port = { contact: this.contact, via: () => this.via(), send: (message: SipText) => this.send(message) }
    const call = new SipCall(port, parties, rtp)
    this.#calls.set(parties.id, call)
    return call
  }

  #receive(message: SipText): void {
    const known = this.#calls.get(headerOf(message, "call-id"))
    if (known !== undefined) {
      known.receive(message)
      return
    }
    const rtp = message.start.startsWith("INVITE ") ? this.mediaOfNext() : undefined
    if (rtp === undefined) {
      if (statusOf(message) === undefined && !message.start.startsWith("ACK ")) this.#answerStray(message)
      this.onStray(message)
      return
    }
    const call = this.#open(
      {
        id: headerOf(message, "call-id"),
        local: `${headerOf(message, "to")};tag=${random()}`,
        remote: headerOf(message, "from"),
        target: addressOf(headerOf(message, "contact"))
      },
      rtp
    )
    call.receive(message)
    this.onCall(call, message)
  }

  #answerStray(request: SipText): void {
    const copied = request.headers.filter(([name]) => ["via", "from", "to", "call-id", "cseq"].includes(name))
    this.send({ start: "SIP/2.0 200 OK", headers: copied, body: "" })
  }
}

/** Opens one on a free port of 127.0.0.1. The scope closes it. */
export const openSip: Effect.Effect<SipPhone, never, Scope.Scope> = Effect.acquireRelease(
  Effect.async<SipPhone>((resume) => {
    const socket = dgram.createSocket({ type: "udp4", recvBufferSize: 1 << 20 })
    socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(new SipPhone(socket))))
  }),
  (phone) => Effect.sync(() => phone.close())
)

/** The next call that comes to a phone. */
export const nextCall = (phone: SipPhone): Effect.Effect<SipCall, never, Scope.Scope> =>
  Effect.gen(function* () {
    const rtp = yield* openRtp
    const came = yield* Deferred.make<SipCall>()
    phone.mediaOfNext = () => rtp
    phone.onCall = (call) => {
      phone.mediaOfNext = () => undefined
      Deferred.unsafeDone(came, Effect.succeed(call))
    }
    return yield* Effect.orDie(Effect.timeout(Deferred.await(came), "30 seconds"))
  })

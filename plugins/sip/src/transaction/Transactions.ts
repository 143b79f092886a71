import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { paramOf } from "../message/Syntax.ts"
import { sourceOf } from "../transport/SourceLimits.ts"
import { DueTimes } from "./DueTimes.ts"
import * as InviteClient from "./InviteClient.ts"
import * as InviteServer from "./InviteServer.ts"
import * as OtherClient from "./OtherClient.ts"
import * as OtherServer from "./OtherServer.ts"
import { isReliable, type Peer } from "./Peer.ts"
import { responsePeer } from "./ReceivedVia.ts"
import { next, type Timing } from "./Timing.ts"
import type { ClientTransaction, Output, ServerTransaction, Step } from "./Transaction.ts"

/** What the transactions of a user agent request, in order. */
export type Effect =
  | { readonly _tag: "Send"; readonly message: Message.Message; readonly peer: Peer }
  /** A new request, to be answered with {@link Transactions.respond}. `cancels`: the INVITE that a CANCEL is for. */
  | {
      readonly _tag: "Request"
      readonly request: Request
      readonly peer: Peer
      readonly key: string
      readonly cancels: string | undefined
    }
  /** The ACK of a 2xx. */
  | { readonly _tag: "Ack"; readonly request: Request; readonly peer: Peer }
  | { readonly _tag: "Response"; readonly response: Response; readonly branch: string; readonly request: Request }
  /** A 2xx whose transaction is over: the fork of an INVITE, or a repetition. */
  | { readonly _tag: "Stray"; readonly response: Response; readonly peer: Peer }
  /** No response came to a request of ours. */
  | {
      readonly _tag: "Failed"
      readonly branch: string
      readonly request: Request
      readonly reason: "timeout" | "transport"
    }

interface Kept<T> {
  readonly is: T
  readonly peer: Peer
}

/** Identifies a request's server transaction (RFC 3261, 17.2.3); without a branch of that RFC as RFC 2543 had it. */
export const serverKey = (request: Request, method: string = request.method): string => {
  const via = Message.vias(request)?.[0]
  const branch = paramOf(via?.params ?? [], "branch") ?? ""
  const invite = method === "ACK" ? "INVITE" : method
  if (/^z9hG4bK/i.test(branch)) return `${branch} ${via?.host.toLowerCase()} ${via?.port ?? ""} ${invite}`
  const cseq = Message.cseq(request)?.number ?? 0
  // The tag of To is left out: an ACK has it, and the INVITE before has not.
  return `2543 ${request.uri} ${Message.tag(request, "from") ?? ""} ${Message.callId(request)} ${cseq} ${Message.headers(request, "via")[0] ?? ""} ${invite}`
}

/** The CANCEL of an INVITE of ours: the same branch, Request-URI, route and number (RFC 3261, 9.1). */
const cancelOf = (invite: Request): Request => ({
  _tag: "Request",
  method: "CANCEL",
  uri: invite.uri,
  headers: [
    ...invite.headers.filter(({ name }) => ["via", "route", "from", "to", "call-id", "max-forwards"].includes(name)),
    { name: "cseq", value: `${Message.cseq(invite)?.number ?? 1} CANCEL` }
  ],
  body: Message.noBody
})

/** Server transactions at once; more new requests are dropped, and peers repeat them. */
const maxServers = 20_000
/** Of them from one source, so that no source takes the place of all others. */
const maxServersPerSource = maxServers / 4

/** All transactions of a user agent, without sockets and clock: `now` is given, in ms. */
export class Transactions {
  readonly #timing: Timing
  readonly #clients = new Map<string, Kept<ClientTransaction>>()
  readonly #servers = new Map<string, Kept<ServerTransaction>>()
  /** Server transactions of each source. */
  readonly #sources = new Map<string, number>()
  readonly #clientTimes = new DueTimes()
  readonly #serverTimes = new DueTimes()

  constructor(timing: Timing) {
    this.#timing = timing
  }

  /** When `advance` has something to do, in ms; infinite: never. */
  get dueAt(): number {
    return Math.min(this.#clientTimes.earliest, this.#serverTimes.earliest)
  }

  get size(): number {
    return this.#clients.size + this.#servers.size
  }

  /**
   * Begins a request of ours, whose topmost Via has a unique branch. An ACK of a 2xx is just sent. `answerWithin`: see
   * {@link ClientTransaction}.
   */
  request(request: Request, peer: Peer, now: number, answerWithin?: number): ReadonlyArray<Effect> {
    if (request.method === "ACK") return [{ _tag: "Send", message: request, peer }]
    const setting = {
      reliable: isReliable(peer),
      timing: this.#timing,
      ...(answerWithin === undefined ? {} : { answerWithin })
    }
    const machine = request.method === "INVITE" ? InviteClient : OtherClient
    return this.#keepClient(this.#clientKey(request), peer, machine.start(request, setting, now))
  }

  /** Cancels the INVITE with this branch, which must have had a provisional response (RFC 3261, 9.1). */
  cancel(branch: string, now: number): ReadonlyArray<Effect> {
    const kept = this.#clients.get(`${branch} INVITE`)
    if (kept === undefined || kept.is.state !== "proceeding") return []
    return [...this.abandon(branch, now), ...this.request(cancelOf(kept.is.request), kept.peer, now)]
  }

  /** The final response to the INVITE with this branch is not waited for any longer than 64 T1. */
  abandon(branch: string, now: number): ReadonlyArray<Effect> {
    const key = `${branch} INVITE`
    const kept = this.#clients.get(key)
    return kept === undefined ? [] : this.#keepClient(key, kept.peer, InviteClient.abandon(kept.is, now))
  }

  /** Answers a request by its key. */
  respond(key: string, response: Response, now: number): ReadonlyArray<Effect> {
    const kept = this.#servers.get(key)
    if (kept === undefined) return []
    const machine = kept.is.request.method === "INVITE" ? InviteServer : OtherServer
    return this.#keepServer(key, kept.peer, machine.respond(kept.is, response, now))
  }

  receive(message: Message.Message, peer: Peer, now: number): ReadonlyArray<Effect> {
    return message._tag === "Request"
      ? this.#receiveRequest(message, peer, now)
      : this.#receiveResponse(message, peer, now)
  }

  /** Whether a message belongs to a transaction that there is, or cancels one. */
  isKnown(message: Message.Message): boolean {
    if (message._tag === "Response") return this.#clients.has(this.#clientKey(message))
    return (
      this.#servers.has(serverKey(message)) ||
      (message.method === "CANCEL" && this.#servers.has(serverKey(message, "INVITE")))
    )
  }

  /** The messages of a request could not be sent. */
  transportFailed(request: Request): ReadonlyArray<Effect> {
    const key = this.#clientKey(request)
    this.#clientTimes.delete(key)
    return this.#clients.delete(key)
      ? [{ _tag: "Failed", branch: key.split(" ", 1)[0] ?? "", request, reason: "transport" }]
      : []
  }

  /** Fires the timers that are due. */
  advance(now: number): ReadonlyArray<Effect> {
    const effects: Array<Effect> = []
    for (const key of this.#clientTimes.take(now)) {
      const kept = this.#clients.get(key)
      const due = kept === undefined ? undefined : next(kept.is.timers)
      if (kept === undefined || due === undefined) continue
      const machine = kept.is.request.method === "INVITE" ? InviteClient : OtherClient
      effects.push(...this.#keepClient(key, kept.peer, machine.fire(kept.is, due.name, now)))
    }
    for (const key of this.#serverTimes.take(now)) {
      const kept = this.#servers.get(key)
      const due = kept === undefined ? undefined : next(kept.is.timers)
      if (kept === undefined || due === undefined) continue
      const machine = kept.is.request.method === "INVITE" ? InviteServer : OtherServer
      effects.push(...this.#keepServer(key, kept.peer, machine.fire(kept.is, due.name, now)))
    }
    return effects
  }

  #clientKey(message: Message.Message): string {
    const branch = paramOf(Message.vias(message)?.[0]?.params ?? [], "branch") ?? ""
    return `${branch} ${Message.cseq(message)?.method ?? ""}`
  }

  #receiveRequest(request: Request, peer: Peer, now: number): ReadonlyArray<Effect> {
    const key = serverKey(request)
    const kept = this.#servers.get(key)
    if (kept !== undefined) {
      const { is } = kept
      const isInvite = is.request.method === "INVITE"
      return this.#keepServer(
        key,
        kept.peer,
        isInvite ? InviteServer.receive(is, request, now) : OtherServer.receive(is)
      )
    }
    if (request.method === "ACK") return [{ _tag: "Ack", request, peer }]
    const source = sourceOf(peer.address)
    const count = this.#sources.get(source) ?? 0
    if (this.#servers.size >= maxServers || count >= maxServersPerSource) return []
    this.#sources.set(source, count + 1)
    this.#servers.set(key, {
      is: InviteServer.start(request, { reliable: isReliable(peer), timing: this.#timing }),
      peer: responsePeer(request, peer)
    })
    const invite = request.method === "CANCEL" ? serverKey(request, "INVITE") : undefined
    const cancels = invite !== undefined && this.#servers.has(invite) ? invite : undefined
    return [{ _tag: "Request", request, peer, key, cancels }]
  }

  #receiveResponse(response: Response, peer: Peer, now: number): ReadonlyArray<Effect> {
    const vias = Message.vias(response)
    // More than one value of Via: the response is for another user agent (RFC 3261, 8.1.3.3).
    if (vias?.length !== 1) return []
    const key = this.#clientKey(response)
    const kept = this.#clients.get(key)
    if (kept === undefined) {
      const isSuccess = response.status >= 200 && response.status < 300
      return isSuccess && Message.cseq(response)?.method === "INVITE" ? [{ _tag: "Stray", response, peer }] : []
    }
    const machine = kept.is.request.method === "INVITE" ? InviteClient : OtherClient
    return this.#keepClient(key, kept.peer, machine.receive(kept.is, response, now))
  }

  #keepClient(key: string, peer: Peer, [is, outputs]: Step<ClientTransaction>): ReadonlyArray<Effect> {
    const isOver = is.state === "terminated"
    if (isOver) this.#clients.delete(key)
    else this.#clients.set(key, { is, peer })
    this.#clientTimes.set(key, (isOver ? undefined : next(is.timers)?.at) ?? Number.POSITIVE_INFINITY)
    const branch = key.split(" ", 1)[0] ?? ""
    const { request } = is
    return outputs.map((output: Output): Effect => {
      if (output._tag === "Send") return { _tag: "Send", message: output.message, peer }
      if (output._tag === "Received") return { _tag: "Response", response: output.response, branch, request }
      return { _tag: "Failed", branch, request, reason: output.reason }
    })
  }

  #dropServer(key: string, { address }: Peer): void {
    if (!this.#servers.delete(key)) return
    const source = sourceOf(address)
    const count = this.#sources.get(source) ?? 0
    if (count > 1) this.#sources.set(source, count - 1)
    else this.#sources.delete(source)
  }

  #keepServer(key: string, peer: Peer, [is, outputs]: Step<ServerTransaction>): ReadonlyArray<Effect> {
    const isOver = is.state === "terminated"
    if (isOver) this.#dropServer(key, peer)
    else this.#servers.set(key, { is, peer })
    this.#serverTimes.set(key, (isOver ? undefined : next(is.timers)?.at) ?? Number.POSITIVE_INFINITY)
    return outputs.flatMap(
      (output): ReadonlyArray<Effect> =>
        output._tag === "Send" ? [{ _tag: "Send", message: output.message, peer }] : []
    )
  }
}

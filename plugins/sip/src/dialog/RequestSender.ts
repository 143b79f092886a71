import type { Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import { serialize } from "../message/Serializer.ts"
import { decimal, paramOf } from "../message/Syntax.ts"
import { onFlow, type Peer } from "../transaction/Peer.ts"
import type * as Transactions from "../transaction/Transactions.ts"
import type { Locate } from "./AgentEffect.ts"
import type * as Call from "./Call.ts"
import type { CallTable, Owner } from "./CallTable.ts"
import * as Dialog from "./Dialog.ts"
import { LargeRequests } from "./LargeRequests.ts"
import { type Pending, Targets } from "./Targets.ts"

/** How long a server may take to answer while others are left, in ms: three retransmissions over UDP. */
const nextTargetMs = 4000

export interface RequestSenderOptions {
  /** 32 random hexadecimal digits. */
  readonly random: () => string
  /** Our host and port in Via and Contact, for messages to this peer. */
  readonly sentBy: (peer: Peer) => { readonly host: string; readonly port: number }
  /** Whether requests that are too large for UDP go by TCP (RFC 3261, 18.1.1). */
  readonly hasTcp: boolean
}

type Effects = ReadonlyArray<Transactions.Effect>

const isCanceled = (call: Call.Call): boolean => call._tag === "Outbound" && call.is.canceling !== "no"

/** Whether a request goes to its Request-URI, which leaves the transport open. */
const namesNoTransport = (request: Request): boolean => {
  const hop = Dialog.goesToUri(request) ? Dialog.nextHop(request) : undefined
  return hop?._tag === "Sip" && hop.scheme === "sip" && paramOf(hop.params, "transport") === undefined
}

/**
 * Sends our requests: each to the first of its servers that answers (RFC 3263, 4.3), and a large one by TCP, or over UDP where
 * TCP is refused (RFC 3261, 18.1.1). Times are ms.
 */
export class RequestSender {
  readonly #options: RequestSenderOptions
  readonly #transactions: Transactions.Transactions
  readonly #calls: CallTable
  readonly #large = new LargeRequests()
  readonly #targets = new Targets()

  constructor(options: RequestSenderOptions, transactions: Transactions.Transactions, calls: CallTable) {
    this.#options = options
    this.#transactions = transactions
    this.#calls = calls
  }

  /** Sends a request to the first of these servers; undefined: there is none. */
  send(located: Locate, found: ReadonlyArray<Peer>, now: number): Effects | undefined {
    const isUnnamed = namesNoTransport(located.request)
    const servers = found.map((each) => onFlow(each, located.flow, isUnnamed))
    const [first, ...others] = this.#targets.inOrder(servers, Message.callId(located.request), now)
    return first === undefined ? undefined : this.#sendTo(located, first, others, now)
  }

  /** The connection for a request was refused. Sends it over UDP; undefined: it was not one that went by TCP for its size. */
  refused(branch: string, now: number): Effects | undefined {
    const again = this.#large.refused(branch, now)
    if (again === undefined) return undefined
    this.#calls.disown(branch)
    return this.#sendTo(again.located, again.peer, this.#targets.take(branch)?.others ?? [], now)
  }

  /** A server has answered: after 503 the request goes to the next server. Undefined: the response is for its owner. */
  answered(
    { branch, response }: Extract<Transactions.Effect, { readonly _tag: "Response" }>,
    owner: Owner | undefined,
    now: number
  ): Effects | undefined {
    this.#large.answered(branch)
    const pending = this.#targets.take(branch)
    if (pending === undefined) return undefined
    // Later responses of this transaction may still be a 503.
    if (response.status < 200) this.#targets.sent(branch, pending)
    if (response.status !== 503) {
      this.#targets.isUp(pending)
      return undefined
    }
    const pause = decimal(Message.header(response, "retry-after")?.split(/[ ;(]/, 1)[0] ?? "", 2 ** 31)
    if (pause !== undefined) this.#targets.isDown(pending.peer, now, pause)
    return this.#sendToNext(branch, pending, owner, now)
  }

  /** No response came: the request goes to the next server. Undefined: there is none, or it is no longer wanted. */
  failed(branch: string, owner: Owner | undefined, now: number): Effects | undefined {
    const pending = this.#targets.take(branch)
    if (pending === undefined) return undefined
    this.#targets.isDown(pending.peer, now)
    return this.#sendToNext(branch, pending, owner, now)
  }

  #sendToNext(branch: string, pending: Pending, owner: Owner | undefined, now: number): Effects | undefined {
    const [next, ...others] = pending.others
    if (next === undefined || owner === undefined) return undefined
    const call = this.#calls.get(owner.call)?.call
    const isWanted = owner.sent.method !== "INVITE" || (call !== undefined && !isCanceled(call))
    if (!isWanted) return undefined
    this.#calls.disown(branch)
    // The next server has not yet answered the INVITE, so that there is nothing to cancel.
    if (call?._tag === "Outbound") this.#calls.update(owner.call, { ...call, is: { ...call.is, isProceeding: false } })
    return this.#sendTo(pending.located, next, others, now)
  }

  #sendTo(located: Locate, found: Peer, others: ReadonlyArray<Peer>, now: number): Effects {
    const { call, id, request } = located
    const branch = `z9hG4bK${this.#options.random().slice(0, 24)}`
    const direct = this.#withVia(request, found, branch)
    const size = found.transport === "udp" && this.#options.hasTcp ? serialize(direct).length : 0
    const peer = this.#large.peerFor(size, found, now)
    const answerWithin = others.length > 0 || located.hasAlternative === true ? nextTargetMs : undefined
    if (request.method !== "ACK") {
      this.#calls.own(branch, { call, id, sent: request }, peer)
      this.#targets.sent(branch, { located, peer: found, others })
    }
    if (peer === found) return this.#transactions.request(direct, peer, now, answerWithin)
    this.#large.switched(branch, located, found)
    return this.#transactions.request(this.#withVia(request, peer, branch), peer, now, answerWithin)
  }

  #withVia(request: Request, peer: Peer, branch: string): Request {
    const { host, port } = this.#options.sentBy(peer)
    const value = `SIP/2.0/${peer.transport.toUpperCase()} ${host}:${port};branch=${branch};rport`
    return { ...request, headers: [{ name: "via", value }, ...request.headers] }
  }
}

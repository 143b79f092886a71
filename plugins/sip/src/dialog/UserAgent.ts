import { contact as ownContact } from "../message/Contact.ts"
import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as Parser from "../message/Parser.ts"
import { serialize } from "../message/Serializer.ts"
import { decimal, paramOf } from "../message/Syntax.ts"
import { isReliable, onFlow, type Peer } from "../transaction/Peer.ts"
import { responsePeer, withSource } from "../transaction/ReceivedVia.ts"
import type { Timing } from "../transaction/Timing.ts"
import * as Transactions from "../transaction/Transactions.ts"
import { sourceOf } from "../transport/SourceLimits.ts"
import { credentialsOf } from "./Account.ts"
import type { AgentEffect, Locate } from "./AgentEffect.ts"
import * as Call from "./Call.ts"
import { CallTable, type Owner } from "./CallTable.ts"
import * as Dialog from "./Dialog.ts"
import * as Inbound from "./Inbound.ts"
import { initialInvite, type NewCall } from "./InitialInvite.ts"
import { LargeRequests } from "./LargeRequests.ts"
import * as Outbound from "./Outbound.ts"
import type { Output } from "./Output.ts"
import * as Replacement from "./Replacement.ts"
import { isFromPeerOf, routeOf } from "./RequestRoute.ts"
import { type Pending, Targets } from "./Targets.ts"

export interface Options {
  readonly timing: Timing
  /** 32 random hexadecimal digits. */
  readonly random: () => string
  /** Our host and port in Via and Contact, for messages to this peer. */
  readonly sentBy: (peer: Peer) => { readonly host: string; readonly port: number }
  /** Calls at once from one address. */
  readonly callsPerSource: number
  /** Whether requests that are too large for UDP go by TCP (RFC 3261, 18.1.1). */
  readonly hasTcp: boolean
}

/** How long a server may take to answer while others are left, in ms: three retransmissions over UDP. */
const nextTargetMs = 4000

type Respond = (status: number, reason: string, headers?: Headers) => ReadonlyArray<AgentEffect>

const isCanceled = (call: Call.Call): boolean => call._tag === "Outbound" && call.is.canceling !== "no"

/** Whether a request goes to its Request-URI, which leaves the transport open. */
const namesNoTransport = (request: Request): boolean => {
  const hop = Message.header(request, "route") === undefined ? Dialog.nextHop(request) : undefined
  return hop?._tag === "Sip" && hop.scheme === "sip" && paramOf(hop.params, "transport") === undefined
}

const isLateAnswer = (sent: Request, { status }: Response): boolean =>
  sent.method === "INVITE" && status >= 200 && status < 300

/** All calls of a process: from messages and commands to messages and events, without sockets and clock. Times are ms. */
export class UserAgent {
  readonly #options: Options
  readonly #transactions: Transactions.Transactions
  readonly #calls = new CallTable()
  readonly #large = new LargeRequests()
  readonly #targets = new Targets()

  constructor(options: Options) {
    this.#options = options
    this.#transactions = new Transactions.Transactions(options.timing)
  }

  /** Calls that are not over. */
  get size(): number {
    return this.#calls.size
  }

  /** When `advance` has something to do; infinite: never. */
  get dueAt(): number {
    return Math.min(this.#transactions.dueAt, this.#calls.dueAt)
  }

  /** Bytes from the network: a datagram, or a message of a stream. */
  receive(bytes: Uint8Array, peer: Peer, now: number): ReadonlyArray<AgentEffect> {
    const parsed = Parser.parse(bytes, isReliable(peer))
    if (parsed._tag === "Ignored") return []
    if (parsed._tag === "Message") {
      const { message } = parsed
      const received = message._tag === "Request" ? withSource(message, peer) : message
      return this.#run(this.#transactions.receive(received, peer, now), now)
    }
    const { reason, request, status } = parsed
    // Stateless: a malformed request has no transaction that could be trusted.
    const response = Dialog.respond(
      withSource(request, peer),
      status,
      reason.slice(0, 120),
      this.#options.random().slice(0, 16)
    )
    return [{ _tag: "Send", message: response, peer: responsePeer(request, peer) }]
  }

  /** Whether a message belongs to a transaction or a call that there is; others may come from any source. */
  isKnown(message: Message.Message): boolean {
    if (this.#transactions.isKnown(message)) return true
    if (message._tag === "Response") return false
    const call = Message.tag(message, "to") === undefined ? undefined : this.#calls.ofDialog(message, "to")
    return call !== undefined && isFromPeerOf(this.#calls, call, message)
  }

  /** Fires the timers that are due. */
  advance(now: number): ReadonlyArray<AgentEffect> {
    const effects = [...this.#run(this.#transactions.advance(now), now)]
    for (const id of this.#calls.takeDue(now)) {
      const entry = this.#calls.get(id)
      if (entry !== undefined) effects.push(...this.#keep(id, Call.advance(entry.call, now), now))
    }
    return effects
  }

  command(call: string, command: Call.Command, now: number): ReadonlyArray<AgentEffect> {
    return this.#input(call, { _tag: "Command", command }, now)
  }

  /** Places a call under this id. */
  invite(id: string, newCall: NewCall, now: number): ReadonlyArray<AgentEffect> {
    const { random, timing } = this.#options
    const [localTag, callId] = [random().slice(0, 16), random()]
    const invite = initialInvite(newCall, callId, localTag)
    const { account, contact, hasAlternative = false } = newCall
    const [call, outputs] = Outbound.start({ invite, contact, account, hasAlternative, timing, salt: random() })
    this.#calls.add(id, {
      call,
      callId,
      localTag,
      source: undefined,
      invite: undefined,
      branches: new Map(),
      flow: undefined
    })
    return this.#outputs(id, outputs, now)
  }

  /** The Call-ID of a call. */
  callId(call: string): string | undefined {
    return this.#calls.get(call)?.callId
  }

  /** The target of a REFER on one call by which its peer takes our place in another, or why there is none. */
  replacement(one: string, other: string): ReturnType<typeof Replacement.target> {
    const [first, second] = [this.#calls.get(one)?.call, this.#calls.get(other)?.call]
    if (first?._tag !== "Established" || second?._tag !== "Established") return { reason: "one of the calls is over" }
    return Replacement.target(first.is, second.is)
  }

  /** Sends a request outside of calls; `call` names its owner. */
  request(call: string, request: Request): ReadonlyArray<AgentEffect> {
    return [{ _tag: "Locate", call, id: request.method, request }]
  }

  /**
   * Sends a request that was to be located, to the first of these servers that answers (RFC 3263, 4.3). A large one goes by
   * TCP, and over UDP where that is refused.
   */
  send(located: Locate, found: ReadonlyArray<Peer>, now: number): ReadonlyArray<AgentEffect> {
    const isUnnamed = namesNoTransport(located.request)
    const servers = found.map((each) => onFlow(each, located.flow, isUnnamed))
    const [first, ...others] = this.#targets.inOrder(servers, Message.callId(located.request), now)
    return first === undefined ? this.unreachable(located, now) : this.#sendTo(located, first, others, now)
  }

  #sendTo(located: Locate, found: Peer, others: ReadonlyArray<Peer>, now: number): ReadonlyArray<AgentEffect> {
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
    if (peer === found) return this.#run(this.#transactions.request(direct, peer, now, answerWithin), now)
    this.#large.switched(branch, located, found)
    const large = this.#withVia(request, peer, branch)
    return this.#run(this.#transactions.request(large, peer, now, answerWithin), now)
  }

  /** The next hop of a request was not found, or no connection to it. */
  unreachable({ call, id, request }: Locate, now: number): ReadonlyArray<AgentEffect> {
    return this.#failed({ call, id, sent: request }, "transport", now)
  }

  /** A message could not be sent. */
  transportFailed(message: Message.Message, now: number): ReadonlyArray<AgentEffect> {
    if (message._tag === "Response") return []
    const failed = this.#transactions.transportFailed(message)
    const branch = paramOf(Message.vias(message)?.[0]?.params ?? [], "branch") ?? ""
    const again = this.#large.refused(branch, now)
    if (again === undefined) return this.#run(failed, now)
    this.#calls.disown(branch)
    return this.#sendTo(again.located, again.peer, this.#targets.take(branch)?.others ?? [], now)
  }

  #withVia(request: Request, peer: Peer, branch: string): Request {
    const { host, port } = this.#options.sentBy(peer)
    const value = `SIP/2.0/${peer.transport.toUpperCase()} ${host}:${port};branch=${branch};rport`
    return { ...request, headers: [{ name: "via", value }, ...request.headers] }
  }

  #run(effects: ReadonlyArray<Transactions.Effect>, now: number): ReadonlyArray<AgentEffect> {
    return effects.flatMap((effect) => this.#handled(effect, now))
  }

  #handled(effect: Transactions.Effect, now: number): ReadonlyArray<AgentEffect> {
    switch (effect._tag) {
      case "Send":
        return [effect]
      case "Request":
        return this.#requested(effect, now)
      case "Ack": {
        const call = this.#calls.ofDialog(effect.request, "to")
        return call === undefined ? [] : this.#input(call, { _tag: "Ack", request: effect.request }, now)
      }
      case "Response": {
        // A CANCEL has the branch of its INVITE, and its response changes nothing.
        if (effect.request.method === "CANCEL") return []
        this.#large.answered(effect.branch)
        const owner = this.#calls.owner(effect.branch)
        const handled = this.#answered(effect, owner, now)
        if (handled !== undefined) return handled
        if (effect.response.status >= 200 && effect.request.method !== "INVITE") this.#calls.disown(effect.branch)
        if (owner !== undefined) return this.#responded(owner, effect.response, now)
        return isLateAnswer(effect.request, effect.response) ? this.#declined(effect.response) : []
      }
      case "Stray":
        // Nothing is sent for a call that we never placed: its Contact could be the address of a victim.
        return this.#calls.hasPlaced(effect.response) ? this.#declined(effect.response, effect.peer) : []
      case "Failed": {
        if (effect.request.method === "CANCEL") return []
        const owner = this.#calls.owner(effect.branch)
        const pending = this.#targets.take(effect.branch)
        if (pending !== undefined) this.#targets.isDown(pending.peer, now)
        const handled = this.#sendToNext(effect.branch, pending, owner, now)
        if (handled !== undefined) return handled
        this.#calls.disown(effect.branch)
        return owner === undefined ? [] : this.#failed(owner, effect.reason, now)
      }
    }
  }

  /** A server has answered: after 503 the request goes to the next server. Undefined: the owner gets the response. */
  #answered(
    { branch, response }: Extract<Transactions.Effect, { readonly _tag: "Response" }>,
    owner: Owner | undefined,
    now: number
  ): ReadonlyArray<AgentEffect> | undefined {
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

  /** Sends a request to the next server. Undefined: there is none, or the request is no longer wanted. */
  #sendToNext(
    branch: string,
    pending: Pending | undefined,
    owner: Owner | undefined,
    now: number
  ): ReadonlyArray<AgentEffect> | undefined {
    const [next, ...others] = pending?.others ?? []
    if (pending === undefined || next === undefined || owner === undefined) return undefined
    const call = this.#calls.get(owner.call)?.call
    const isWanted = owner.sent.method !== "INVITE" || (call !== undefined && !isCanceled(call))
    if (!isWanted) return undefined
    this.#calls.disown(branch)
    // The next server has not yet answered the INVITE, so that there is nothing to cancel.
    if (call?._tag === "Outbound") this.#calls.update(owner.call, { ...call, is: { ...call.is, isProceeding: false } })
    return this.#sendTo(pending.located, next, others, now)
  }

  #failed({ call, sent }: Owner, reason: "timeout" | "transport", now: number): ReadonlyArray<AgentEffect> {
    if (this.#calls.get(call) !== undefined) return this.#input(call, { _tag: "Failed", sent, reason }, now)
    return [{ _tag: "Failed", call, sent, reason }]
  }

  #responded({ call, sent }: Owner, response: Response, now: number): ReadonlyArray<AgentEffect> {
    if (this.#calls.get(call) !== undefined) return this.#input(call, { _tag: "Response", sent, response }, now)
    if (sent.method === "INVITE") return isLateAnswer(sent, response) ? this.#declined(response) : []
    return [{ _tag: "Response", call, sent, response }]
  }

  /** A 2xx of a call that is over, or of another phone after it: acknowledged and ended. */
  #declined(response: Response, flow?: Peer): ReadonlyArray<AgentEffect> {
    const id = this.#calls.ofDialog(response, "from")
    const call = id === undefined ? undefined : this.#calls.get(id)?.call
    const established = call?._tag === "Established" ? call.is : undefined
    if (established !== undefined && established.dialog.remoteTag === Message.tag(response, "to")) {
      const { ack } = established
      return ack === undefined ? [] : [{ _tag: "Locate", call: "", id: "ACK", request: ack, flow }]
    }
    const credentials = established?.ack === undefined ? [] : credentialsOf(established.ack)
    const headers = [...response.headers, ...credentials]
    const invite: Request = { _tag: "Request", method: "INVITE", uri: "", headers, body: Message.noBody }
    return Outbound.declined(invite, response, "fork").flatMap(
      (output): ReadonlyArray<AgentEffect> =>
        output._tag === "Request" ? [{ _tag: "Locate", call: "", id: output.id, request: output.request, flow }] : []
    )
  }

  #requested(
    { cancels, key, peer, request }: Extract<Transactions.Effect, { readonly _tag: "Request" }>,
    now: number
  ): ReadonlyArray<AgentEffect> {
    const tag = this.#options.random().slice(0, 16)
    const respond: Respond = (status, reason, headers = []) =>
      this.#run(this.#transactions.respond(key, Dialog.respond(request, status, reason, tag, { headers }), now), now)
    const route = routeOf(request, cancels, this.#calls)
    if (route._tag === "Respond") return respond(route.status, route.reason, route.headers)
    if (route._tag === "Begin") return this.#begin(request, key, peer, tag, respond, now)
    return this.#input(route.call, { _tag: "Request", request, key, cancels: route.cancels }, now)
  }

  #begin(
    invite: Request,
    key: string,
    peer: Peer,
    localTag: string,
    respond: Respond,
    now: number
  ): ReadonlyArray<AgentEffect> {
    const { callsPerSource, random, sentBy, timing } = this.#options
    const source = sourceOf(peer.address)
    if (this.#calls.countFrom(source) >= callsPerSource) return respond(486, "Busy Here")
    const { host, port } = sentBy(peer)
    const contact = ownContact({ transport: peer.transport, host, port, isSips: /^sips:/i.test(invite.uri) })
    const [call, outputs] = Inbound.start({ invite, key, localTag, salt: random(), contact, timing, now })
    const id = random()
    if (call._tag === "Over") return this.#outputs(id, outputs, now)
    const callId = Message.callId(invite)
    this.#calls.add(id, {
      call,
      callId,
      localTag,
      source,
      invite: { request: invite, key },
      branches: new Map(),
      flow: peer
    })
    return [...this.#outputs(id, outputs, now), { _tag: "Incoming", call: id, request: invite, peer }]
  }

  #input(id: string, input: Call.Input, now: number): ReadonlyArray<AgentEffect> {
    const entry = this.#calls.get(id)
    return entry === undefined ? [] : this.#keep(id, Call.step(entry.call, input, now), now)
  }

  #keep(id: string, [call, outputs]: Call.Step, now: number): ReadonlyArray<AgentEffect> {
    // Before the call is forgotten, when it is over.
    const { branches, flow } = this.#calls.get(id) ?? {}
    this.#calls.update(id, call)
    if (call._tag === "Over") for (const branch of branches?.values() ?? []) this.#transactions.abandon(branch, now)
    return this.#outputs(id, outputs, now, flow)
  }

  #outputs(id: string, outputs: ReadonlyArray<Output>, now: number, flow?: Peer): ReadonlyArray<AgentEffect> {
    return outputs.flatMap((output) => this.#output(id, output, now, flow))
  }

  #locate(call: string, output: Extract<Output, { readonly _tag: "Request" }>, flow: Peer | undefined): Locate {
    const { hasAlternative = false, id, isUnwanted = false, request } = output
    return { _tag: "Locate", call: isUnwanted ? "" : call, id, request, flow, hasAlternative }
  }

  #output(id: string, output: Output, now: number, flow: Peer | undefined): ReadonlyArray<AgentEffect> {
    switch (output._tag) {
      case "Respond":
        return this.#run(this.#transactions.respond(output.key, output.response, now), now)
      case "Request":
        return [this.#locate(id, output, flow)]
      case "Cancel": {
        const branch = this.#calls.get(id)?.branches.get(output.id)
        return branch === undefined ? [] : this.#run(this.#transactions.cancel(branch, now), now)
      }
      case "Event":
        return [{ _tag: "Event", call: id, event: output.event }]
    }
  }
}

import * as Body from "../message/Body.ts"
import { contact as ownContact } from "../message/Contact.ts"
import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as Parser from "../message/Parser.ts"
import { paramOf } from "../message/Syntax.ts"
import { isReliable, type Peer } from "../transaction/Peer.ts"
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
import * as Outbound from "./Outbound.ts"
import type { Output } from "./Output.ts"
import * as Replacement from "./Replacement.ts"
import { isFromPeerOf, routeOf } from "./RequestRoute.ts"
import { RequestSender, type RequestSenderOptions } from "./RequestSender.ts"

export interface Options extends RequestSenderOptions {
  readonly timing: Timing
  /** Calls at once from one address. */
  readonly callsPerSource: number
}

type Respond = (status: number, reason: string, headers?: Headers) => ReadonlyArray<AgentEffect>

const isLateAnswer = (sent: Request, { status }: Response): boolean =>
  sent.method === "INVITE" && status >= 200 && status < 300

/** All calls of a process: from messages and commands to messages and events, without sockets and clock. Times are ms. */
export class UserAgent {
  readonly #options: Options
  readonly #transactions: Transactions.Transactions
  readonly #calls = new CallTable()
  readonly #requests: RequestSender

  constructor(options: Options) {
    this.#options = options
    this.#transactions = new Transactions.Transactions(options.timing)
    this.#requests = new RequestSender(options, this.#transactions, this.#calls)
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
      const message = Body.plain(parsed.message)
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

  /** Sends a request that was to be located, to the first of these servers that answers. */
  send(located: Locate, found: ReadonlyArray<Peer>, now: number): ReadonlyArray<AgentEffect> {
    const sent = this.#requests.send(located, found, now)
    return sent === undefined ? this.unreachable(located, now) : this.#run(sent, now)
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
    return this.#run(this.#requests.refused(branch, now) ?? failed, now)
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
        const owner = this.#calls.owner(effect.branch)
        const toNext = this.#requests.answered(effect, owner, now)
        if (toNext !== undefined) return this.#run(toNext, now)
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
        const toNext = this.#requests.failed(effect.branch, owner, now)
        if (toNext !== undefined) return this.#run(toNext, now)
        this.#calls.disown(effect.branch)
        return owner === undefined ? [] : this.#failed(owner, effect.reason, now)
      }
    }
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

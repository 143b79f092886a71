import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as Parser from "../message/Parser.ts"
import { methods, refusalOf } from "../message/RequestCheck.ts"
import type { Peer } from "../transaction/Peer.ts"
import { withSource } from "../transaction/ReceivedVia.ts"
import type { Timing } from "../transaction/Timing.ts"
import * as Transactions from "../transaction/Transactions.ts"
import type { Account } from "./Account.ts"
import * as Call from "./Call.ts"
import * as Dialog from "./Dialog.ts"
import type * as Established from "./Established.ts"
import * as Inbound from "./Inbound.ts"
import * as Outbound from "./Outbound.ts"
import type { CallEvent, Output } from "./Output.ts"

/** What a user agent requests from the shell, in order. */
export type Effect =
  | { readonly _tag: "Send"; readonly message: Message.Message; readonly peer: Peer }
  /** A request whose next hop is to be found; then `UserAgent.send`, or `UserAgent.unreachable`. */
  | { readonly _tag: "Locate"; readonly call: string; readonly id: string; readonly request: Request }
  /** An INVITE that begins a call, with where it came from. */
  | { readonly _tag: "Incoming"; readonly call: string; readonly request: Request; readonly peer: Peer }
  | { readonly _tag: "Event"; readonly call: string; readonly event: CallEvent }
  /** A response to a request outside of calls. */
  | { readonly _tag: "Response"; readonly call: string; readonly sent: Request; readonly response: Response }
  | { readonly _tag: "Failed"; readonly call: string; readonly sent: Request; readonly reason: "timeout" | "transport" }

export interface Options {
  readonly timing: Timing
  /** 32 random hexadecimal digits. */
  readonly random: () => string
  /** Our host and port in Via and Contact, for messages to this peer. */
  readonly sentBy: (peer: Peer) => { readonly host: string; readonly port: number }
  /** Calls at once from one address. */
  readonly callsPerSource: number
}

interface Entry {
  readonly call: Call.Call
  readonly callId: string
  readonly localTag: string
  readonly source: string | undefined
  /** The keys of `#dialogs` that are this call's. */
  readonly keys: ReadonlyArray<string>
  /** The key of the transaction of the peer's INVITE. */
  readonly invite: string | undefined
  /** The branches of our INVITEs by their ids. */
  readonly branches: ReadonlyMap<string, string>
}

interface Owner {
  readonly call: string
  readonly id: string
  /** The request without Via. */
  readonly sent: Request
}

const isLateAnswer = (sent: Request, { status }: Response): boolean =>
  sent.method === "INVITE" && status >= 200 && status < 300

/** Call-ID and our tag, which To has in requests of the peer, From in responses to us. */
const dialogKey = (message: Message.Message, ours: "to" | "from"): string =>
  `${Message.callId(message)}\n${Message.tag(message, ours) ?? ""}`

/** Owners of requests that are remembered at most; transactions end within a minute. */
const maxOwners = 50_000

/** All calls of a process: from messages and commands to messages and events, without sockets and clock. Times are ms. */
export class UserAgent {
  readonly #options: Options
  readonly #transactions: Transactions.Transactions
  readonly #calls = new Map<string, Entry>()
  /** Calls by Call-ID and our tag. */
  readonly #dialogs = new Map<string, string>()
  /** Calls by the keys of the transactions of their INVITE. */
  readonly #invites = new Map<string, string>()
  readonly #owners = new Map<string, Owner>()
  readonly #perSource = new Map<string, number>()

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
    let due = this.#transactions.dueAt
    for (const { call } of this.#calls.values()) due = Math.min(due, Call.dueAt(call))
    return due
  }

  /** Bytes from the network: a datagram, or a message of a stream. */
  receive(bytes: Uint8Array, peer: Peer, now: number): ReadonlyArray<Effect> {
    const parsed = Parser.parse(bytes, peer.transport === "tcp")
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
    return [{ _tag: "Send", message: response, peer }]
  }

  /** Fires the timers that are due. */
  advance(now: number): ReadonlyArray<Effect> {
    const effects = [...this.#run(this.#transactions.advance(now), now)]
    for (const [id, { call }] of [...this.#calls]) {
      if (Call.dueAt(call) <= now) effects.push(...this.#keep(id, Call.advance(call, now), now))
    }
    return effects
  }

  command(call: string, command: Inbound.Command | Established.Command, now: number): ReadonlyArray<Effect> {
    return this.#input(call, { _tag: "Command", command }, now)
  }

  /** Places a call. The INVITE needs no Via, Contact, From tag, Call-ID and CSeq: they are added. */
  invite(
    call: string,
    given: {
      readonly uri: string
      readonly from: string
      readonly to: string
      readonly contact: string
      readonly headers: Headers
      readonly routes: ReadonlyArray<string>
      readonly sdp: Uint8Array
      readonly account: Account | undefined
    },
    now: number
  ): ReadonlyArray<Effect> {
    const { account, contact, from, headers, routes, sdp, to, uri } = given
    const { random, timing } = this.#options
    const [localTag, callId] = [random().slice(0, 16), random()]
    const invite: Request = {
      _tag: "Request",
      method: "INVITE",
      uri,
      headers: [
        ...routes.map((value) => ({ name: "route", value })),
        { name: "max-forwards", value: "70" },
        { name: "from", value: `${from};tag=${localTag}` },
        { name: "to", value: to },
        { name: "call-id", value: callId },
        { name: "cseq", value: "1 INVITE" },
        { name: "contact", value: contact },
        { name: "allow", value: methods.join(", ") },
        { name: "supported", value: "timer, 100rel" },
        { name: "session-expires", value: "1800" },
        { name: "min-se", value: "90" },
        ...headers,
        { name: "content-type", value: "application/sdp" }
      ],
      body: sdp
    }
    const keys = [`${callId}\n${localTag}`]
    for (const key of keys) this.#dialogs.set(key, call)
    const entry = { callId, localTag, source: undefined, keys, invite: undefined, branches: new Map<string, string>() }
    const step = Outbound.start({ invite, contact, account, timing, salt: random() })
    this.#calls.set(call, { ...entry, call: step[0] })
    return this.#keep(call, step, now)
  }

  /** The Call-ID of a call. */
  callId(call: string): string | undefined {
    return this.#calls.get(call)?.callId
  }

  /** Sends a request outside of calls; `call` names its owner. */
  request(call: string, request: Request): ReadonlyArray<Effect> {
    return [{ _tag: "Locate", call, id: request.method, request }]
  }

  /** Sends a request that was to be located. */
  send(located: Extract<Effect, { readonly _tag: "Locate" }>, peer: Peer, now: number): ReadonlyArray<Effect> {
    const { call, id, request } = located
    const { host, port } = this.#options.sentBy(peer)
    const branch = `z9hG4bK${this.#options.random().slice(0, 24)}`
    const via = `SIP/2.0/${peer.transport.toUpperCase()} ${host}:${port};branch=${branch};rport`
    const sent: Request = { ...request, headers: [{ name: "via", value: via }, ...request.headers] }
    if (request.method !== "ACK") {
      this.#owners.set(branch, { call, id, sent: request })
      const entry = this.#calls.get(call)
      if (entry !== undefined && request.method === "INVITE") {
        this.#calls.set(call, { ...entry, branches: new Map([...entry.branches, [id, branch]]) })
      }
      const [oldest] = this.#owners.keys()
      if (this.#owners.size > maxOwners && oldest !== undefined) this.#owners.delete(oldest)
    }
    return this.#run(this.#transactions.request(sent, peer, now), now)
  }

  /** The next hop of a request was not found, or no connection to it. */
  unreachable(located: Extract<Effect, { readonly _tag: "Locate" }>, now: number): ReadonlyArray<Effect> {
    const { call, request } = located
    return this.#failed({ call, id: located.id, sent: request }, "transport", now)
  }

  /** A message could not be sent. */
  transportFailed(message: Message.Message, now: number): ReadonlyArray<Effect> {
    return message._tag === "Request" ? this.#run(this.#transactions.transportFailed(message), now) : []
  }

  #run(effects: ReadonlyArray<Transactions.Effect>, now: number): ReadonlyArray<Effect> {
    return effects.flatMap((effect) => this.#handled(effect, now))
  }

  #handled(effect: Transactions.Effect, now: number): ReadonlyArray<Effect> {
    switch (effect._tag) {
      case "Send":
        return [effect]
      case "Request":
        return this.#requested(effect, now)
      case "Ack": {
        const call = this.#dialogs.get(dialogKey(effect.request, "to"))
        return call === undefined ? [] : this.#input(call, { _tag: "Ack", request: effect.request }, now)
      }
      case "Response": {
        // A CANCEL has the branch of its INVITE, and its response changes nothing.
        if (effect.request.method === "CANCEL") return []
        const owner = this.#owners.get(effect.branch)
        if (effect.response.status >= 200 && effect.request.method !== "INVITE") this.#owners.delete(effect.branch)
        if (owner !== undefined) return this.#responded(owner, effect.response, now)
        return isLateAnswer(effect.request, effect.response) ? this.#declined(effect.response) : []
      }
      case "Stray":
        return this.#declined(effect.response)
      case "Failed": {
        if (effect.request.method === "CANCEL") return []
        const owner = this.#owners.get(effect.branch)
        this.#owners.delete(effect.branch)
        return owner === undefined ? [] : this.#failed(owner, effect.reason, now)
      }
    }
  }

  #failed(owner: Owner, reason: "timeout" | "transport", now: number): ReadonlyArray<Effect> {
    const { call, sent } = owner
    if (this.#calls.has(call)) return this.#input(call, { _tag: "Failed", sent, reason }, now)
    return [{ _tag: "Failed", call, sent, reason }]
  }

  #responded({ call, sent }: Owner, response: Response, now: number): ReadonlyArray<Effect> {
    if (this.#calls.has(call)) return this.#input(call, { _tag: "Response", sent, response }, now)
    if (sent.method === "INVITE") return isLateAnswer(sent, response) ? this.#declined(response) : []
    return [{ _tag: "Response", call, sent, response }]
  }

  /** A 2xx of a call that is over, or of another phone after it: acknowledged and ended. */
  #declined(response: Response): ReadonlyArray<Effect> {
    const call = this.#dialogs.get(dialogKey(response, "from"))
    const kept = call === undefined ? undefined : this.#calls.get(call)
    const established = kept?.call._tag === "Established" ? kept.call.is : undefined
    if (established !== undefined && established.dialog.remoteTag === Message.tag(response, "to")) {
      const { ack } = established
      return ack === undefined ? [] : [{ _tag: "Locate", call: "", id: "ACK", request: ack }]
    }
    const invite: Request = {
      _tag: "Request",
      method: "INVITE",
      uri: "",
      headers: response.headers,
      body: Message.noBody
    }
    return Outbound.declined(invite, response, "fork").flatMap(
      (output): ReadonlyArray<Effect> =>
        output._tag === "Request" ? [{ _tag: "Locate", call: "", id: output.id, request: output.request }] : []
    )
  }

  #requested(effect: Extract<Transactions.Effect, { readonly _tag: "Request" }>, now: number): ReadonlyArray<Effect> {
    const { cancels, key, peer, request } = effect
    const tag = this.#options.random().slice(0, 16)
    const respond = (status: number, reason: string, headers: Headers = []): ReadonlyArray<Effect> =>
      this.#run(this.#transactions.respond(key, Dialog.respond(request, status, reason, tag, { headers }), now), now)
    const refusal = refusalOf(request)
    if (refusal !== undefined) return respond(refusal.status, refusal.reason, refusal.headers)
    if (request.method === "CANCEL") {
      const call = cancels === undefined ? undefined : this.#invites.get(cancels)
      if (cancels === undefined) return respond(481, "Call/Transaction Does Not Exist")
      return call === undefined
        ? respond(200, "OK")
        : this.#input(call, { _tag: "Request", request, key, cancels: true }, now)
    }
    if (Message.tag(request, "to") !== undefined) {
      const call = this.#dialogs.get(dialogKey(request, "to"))
      const isKnown = call !== undefined && this.#isOf(call, request)
      return isKnown
        ? this.#input(call, { _tag: "Request", request, key, cancels: false }, now)
        : respond(481, "Call/Transaction Does Not Exist")
    }
    if (request.method === "OPTIONS") {
      const headers = [
        { name: "allow", value: methods.join(", ") },
        { name: "accept", value: "application/sdp" },
        { name: "supported", value: "timer, 100rel" }
      ]
      return respond(200, "OK", headers)
    }
    if (request.method !== "INVITE") return respond(481, "Call/Transaction Does Not Exist")
    return this.#begin(request, key, peer, tag, respond, now)
  }

  #isOf(call: string, request: Request): boolean {
    const entry = this.#calls.get(call)
    if (entry?.call._tag === "Established" || entry?.call._tag === "Inbound") {
      return entry.call.is.dialog.remoteTag === (Message.tag(request, "from") ?? "")
    }
    return entry !== undefined
  }

  #begin(
    invite: Request,
    key: string,
    peer: Peer,
    localTag: string,
    respond: (status: number, reason: string) => ReadonlyArray<Effect>,
    now: number
  ): ReadonlyArray<Effect> {
    const callId = Message.callId(invite)
    // The same request over two ways (RFC 3261, 8.2.2.2).
    const merged = `${callId}\n${Message.tag(invite, "from") ?? ""}\n${Message.cseq(invite)?.number ?? 0}`
    if (this.#dialogs.has(merged)) return respond(482, "Loop Detected")
    const source = peer.address
    const count = this.#perSource.get(source) ?? 0
    if (count >= this.#options.callsPerSource) return respond(486, "Busy Here")
    const { random, sentBy, timing } = this.#options
    const { host, port } = sentBy(peer)
    const contact = `<sip:${host}:${port}${peer.transport === "tcp" ? ";transport=tcp" : ""}>`
    const step = Inbound.start({ invite, key, localTag, salt: random(), contact, timing })
    const call = random()
    if (step[0]._tag === "Over") return this.#outputs(call, step[1], now)
    this.#perSource.set(source, count + 1)
    const keys = [`${callId}\n${localTag}`, merged]
    this.#calls.set(call, { call: step[0], callId, localTag, source, keys, invite: key, branches: new Map() })
    for (const each of keys) this.#dialogs.set(each, call)
    this.#invites.set(key, call)
    return [...this.#outputs(call, step[1], now), { _tag: "Incoming", call, request: invite, peer }]
  }

  #input(call: string, input: Call.Input, now: number): ReadonlyArray<Effect> {
    const entry = this.#calls.get(call)
    return entry === undefined ? [] : this.#keep(call, Call.step(entry.call, input, now), now)
  }

  #keep(id: string, [call, outputs]: Call.Step, now: number): ReadonlyArray<Effect> {
    const entry = this.#calls.get(id)
    if (entry !== undefined) {
      if (call._tag === "Over") this.#forget(id, entry)
      else this.#calls.set(id, { ...entry, call })
    }
    return this.#outputs(id, outputs, now)
  }

  #forget(id: string, { branches, invite, keys, source }: Entry): void {
    this.#calls.delete(id)
    for (const key of keys) this.#dialogs.delete(key)
    for (const branch of branches.values()) this.#owners.delete(branch)
    if (invite !== undefined) this.#invites.delete(invite)
    if (source === undefined) return
    const left = (this.#perSource.get(source) ?? 1) - 1
    if (left > 0) this.#perSource.set(source, left)
    else this.#perSource.delete(source)
  }

  #outputs(call: string, outputs: ReadonlyArray<Output>, now: number): ReadonlyArray<Effect> {
    return outputs.flatMap((output) => this.#output(call, output, now))
  }

  #output(call: string, output: Output, now: number): ReadonlyArray<Effect> {
    switch (output._tag) {
      case "Respond":
        return this.#run(this.#transactions.respond(output.key, output.response, now), now)
      case "Request":
        return [
          { _tag: "Locate", call: output.isUnwanted === true ? "" : call, id: output.id, request: output.request }
        ]
      case "Cancel": {
        const branch = this.#calls.get(call)?.branches.get(output.id)
        return branch === undefined ? [] : this.#run(this.#transactions.cancel(branch, now), now)
      }
      case "Event":
        return [{ _tag: "Event", call, event: output.event }]
    }
  }
}

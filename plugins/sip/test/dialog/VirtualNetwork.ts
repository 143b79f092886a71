import { createHash } from "node:crypto"
import type { AgentEffect } from "../../src/dialog/AgentEffect.ts"
import * as Dialog from "../../src/dialog/Dialog.ts"
import type { CallEvent } from "../../src/dialog/Output.ts"
import { UserAgent } from "../../src/dialog/UserAgent.ts"
import type * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import * as Uri from "../../src/message/Uri.ts"
import type { Peer } from "../../src/transaction/Peer.ts"
import { usualTiming } from "../../src/transaction/Timing.ts"
import { bracketed } from "../../src/transport/LocalAddress.ts"

/** What happens to one datagram: when it arrives in ms after it was sent; several times: it is repeated; never: it is lost. */
export type Fate = (message: Message.Message, from: string) => ReadonlyArray<number>

/** A user agent on the virtual network, with its address, its events, and the calls that came. */
export interface Node {
  readonly address: string
  readonly agent: UserAgent
  readonly events: Array<readonly [string, CallEvent]>
  readonly incoming: Array<Extract<AgentEffect, { readonly _tag: "Incoming" }>>
  readonly others: Array<AgentEffect>
  /** Called at each event, so that a test can react. */
  react: (call: string, event: CallEvent) => void
}

/** What went over the network: time, sender, and method or status with method. */
export type Sent = readonly [number, string, string]

/** User agents on a network without sockets, with a clock of its own. */
export class VirtualNetwork {
  now = 0
  readonly sent: Array<Sent> = []
  readonly messages: Array<Message.Message> = []
  readonly #nodes = new Map<string, Node>()
  #flying: Array<{ readonly at: number; readonly to: string; readonly from: string; readonly bytes: Uint8Array }> = []
  fate: Fate
  /** The addresses of a name, in the order to be tried. */
  readonly servers = new Map<string, ReadonlyArray<string>>()

  constructor(fate: Fate = () => [1]) {
    this.fate = fate
  }

  node(address: string, callsPerSource = 100): Node {
    let count = 0
    const random = (): string => createHash("md5").update(`${address} ${count++}`).digest("hex")
    const agent = new UserAgent({
      timing: usualTiming,
      random,
      sentBy: () => ({ host: bracketed(address), port: 5060 }),
      callsPerSource,
      hasTcp: false
    })
    const node: Node = { address, agent, events: [], incoming: [], others: [], react: () => {} }
    this.#nodes.set(address, node)
    return node
  }

  /** Bytes that no user agent sent. */
  inject(bytes: Uint8Array, from: string, to: string): void {
    this.#flying.push({ at: this.now, to, from, bytes })
  }

  /** Carries effects out. */
  perform(node: Node, effects: ReadonlyArray<AgentEffect>): void {
    for (const effect of effects) {
      if (effect._tag === "Send") this.#send(node, effect.message, effect.peer)
      else if (effect._tag === "Locate") {
        const hop = Dialog.nextHop(effect.request)
        const host = hop?._tag === "Sip" ? hop.host : ""
        const port = hop?._tag === "Sip" ? (hop.port ?? 5060) : 5060
        const peers = (this.servers.get(host) ?? [host]).map((address): Peer => ({ transport: "udp", address, port }))
        this.perform(node, node.agent.send(effect, peers, this.now))
      } else if (effect._tag === "Event") {
        node.events.push([effect.call, effect.event])
        node.react(effect.call, effect.event)
      } else if (effect._tag === "Incoming") node.incoming.push(effect)
      else node.others.push(effect)
    }
  }

  /** Runs until a time in ms. */
  runUntil(until: number): void {
    for (;;) {
      this.#flying.sort((a, b) => a.at - b.at)
      const arrival = this.#flying[0]?.at ?? Number.POSITIVE_INFINITY
      const due = Math.min(...[...this.#nodes.values()].map(({ agent }) => agent.dueAt))
      const next = Math.min(arrival, due)
      if (next > until) break
      this.now = Math.max(this.now, next)
      if (arrival <= next) {
        const packet = this.#flying.shift()
        const node = packet === undefined ? undefined : this.#nodes.get(packet.to)
        if (packet !== undefined && node !== undefined) {
          const peer: Peer = { transport: "udp", address: packet.from, port: 5060 }
          this.perform(node, node.agent.receive(packet.bytes, peer, this.now))
        }
      } else for (const node of this.#nodes.values()) this.perform(node, node.agent.advance(this.now))
    }
    this.now = until
  }

  run(ms: number): void {
    this.runUntil(this.now + ms)
  }

  #send(node: Node, message: Message.Message, peer: Peer): void {
    const what = message._tag === "Request" ? message.method : `${message.status}`
    this.sent.push([this.now, node.address, what])
    this.messages.push(message)
    const bytes = serialize(message)
    for (const delay of this.fate(message, node.address)) {
      this.#flying.push({ at: this.now + delay, to: peer.address, from: node.address, bytes })
    }
  }
}

const sdpText = (port: number): string =>
  `v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\n`

export const sdp = (port: number): Uint8Array => Buffer.from(sdpText(port))

/** Places a call from one node to another. */
export const dial = (
  network: VirtualNetwork,
  from: Node,
  to: Node,
  account?: { username: string; password: string },
  call = "call"
): void => {
  const effects = from.agent.invite(
    call,
    {
      uri: Uri.text(Uri.make(to.address, { user: "+4930" })),
      from: `<sip:+4989@${from.address}>`,
      to: `<sip:+4930@${to.address}>`,
      contact: `<sip:+4989@${from.address}:5060>`,
      headers: [],
      routes: [],
      sdp: sdp(4000),
      account
    },
    network.now
  )
  network.perform(from, effects)
}

import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { dial, type Node, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

export const setUp = (fate?: VirtualNetwork["fate"]) => {
  const network = new VirtualNetwork(fate)
  return { network, caller: network.node("192.0.2.10"), callee: network.node("192.0.2.20") }
}

type Command = Parameters<Node["agent"]["command"]>[1]

export const command = (
  network: VirtualNetwork,
  node: Node,
  given: Command,
  call = node.incoming[0]?.call ?? "call"
): void => network.perform(node, node.agent.command(call, given, network.now))

export const tags = (node: Node): ReadonlyArray<string> => node.events.map(([, { _tag }]) => _tag)

/** Dials, and answers at once. */
export const connected = (fate?: VirtualNetwork["fate"]) => {
  const parts = setUp(fate)
  const { callee, caller, network } = parts
  dial(network, caller, callee)
  network.run(100)
  command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
  network.run(100)
  return parts
}

export const sentBy = (network: VirtualNetwork, node: Node): ReadonlyArray<string> =>
  network.sent.flatMap(([, from, what]) => (from === node.address ? [what] : []))

export const last = (network: VirtualNetwork, method: string): Message.Message => {
  const found = network.messages.findLast((each) => Message.cseq(each)?.method === method)
  if (found === undefined) throw new Error(`no ${method}`)
  return found
}

/** Sends a request of the callee's dialog that its user agent would not send by itself. */
export const injected = (
  network: VirtualNetwork,
  given: Partial<Message.Request>,
  from: Node,
  to: Node,
  cseq: string
): void => {
  const ack = network.messages.find((each): each is Message.Request => each._tag === "Request" && each.method === "ACK")
  if (ack === undefined) throw new Error("no ACK")
  const request: Message.Request = {
    ...ack,
    ...given,
    headers: [
      { name: "via", value: `SIP/2.0/UDP ${from.address}:5060;branch=z9hG4bKinjected${cseq.replace(" ", "")}` },
      ...ack.headers.filter(({ name }) => name !== "via" && name !== "cseq"),
      { name: "cseq", value: cseq },
      ...(given.headers ?? [])
    ]
  }
  network.inject(serialize(request), from.address, to.address)
}

import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Effect, FiberSet } from "effect"
import { JoinableCalls } from "../src/AttendedTransfer.ts"
import type { CallContext } from "../src/CallContext.ts"
import * as InboundCalls from "../src/InboundCalls.ts"
import { usualPeerTimeouts } from "../src/PeerWatch.ts"
import { codecsOf } from "../src/Settings.ts"
import { dial, VirtualNetwork } from "./dialog/VirtualNetwork.ts"
import { silent } from "./SipPhones.ts"

const [us, phone] = ["192.0.2.10", "192.0.2.20"]

/** A call of a phone to us, on a network without sockets and with a clock of its own. It has no audio. */
const called = Effect.gen(function* () {
  const network = new VirtualNetwork()
  const node = network.node(us)
  const caller = network.node(phone)
  const listeners: CallContext["listeners"] = new Map()
  node.react = (call, event) => listeners.get(call)?.(event)
  dial(network, caller, node)
  network.run(10)
  const [arrived] = node.incoming
  if (arrived === undefined) return yield* Effect.dieMessage("no call came")
  const context: CallContext = {
    ...silent,
    signaling: {
      agent: node.agent,
      addressFor: () => us,
      port: 5060,
      portOf: () => 5060,
      tlsPort: undefined,
      problemOf: () => undefined,
      now: () => network.now,
      perform: (effects) => network.perform(node, effects),
      ignored: new Map()
    },
    media: { open: () => Effect.dieMessage("the call is not answered"), size: () => 0, families: [4] },
    codecs: codecsOf("PCMU"),
    trunks: [],
    phones: undefined,
    trunkAt: () => undefined,
    accountAt: () => undefined,
    isTrusted: () => true,
    transfer: "auto",
    encryptionOver: () => "off",
    peerTimeouts: usualPeerTimeouts,
    joinable: new JoinableCalls(),
    fork: yield* FiberSet.makeRuntime<never>(),
    listeners
  }
  const offered: Array<IncomingCall> = []
  InboundCalls.take(context, arrived, (call) => void offered.push(call))
  const [call] = offered
  if (call === undefined) return yield* Effect.dieMessage("the call was refused")
  return { call, caller, listeners, network }
})

/** Lets the fibers run that can go on. */
const settled = Effect.repeatN(Effect.yieldNow(), 20)

describe("A call to us that the engine does not answer", () => {
  it.scoped("is over after 180 s: the engine is told by `canceled`, and the phone gets 480", () =>
    Effect.gen(function* () {
      const { call, caller, listeners, network } = yield* called
      call.ringing("c")
      const canceled = yield* Effect.fork(call.canceled)
      network.runUntil(179_900)
      yield* settled
      expect(canceled.unsafePoll()).toBeNull()
      network.run(300)
      yield* settled
      expect(canceled.unsafePoll()).not.toBeNull()
      expect(caller.events.at(-1)?.[1]).toMatchObject({ _tag: "Refused", status: 480 })
      expect(listeners.size).toBe(0)
      const gone = yield* Effect.flip(call.answer({ callId: "c", formats: legFormats }))
      expect(gone._tag).toBe("CallGone")
    })
  )
})

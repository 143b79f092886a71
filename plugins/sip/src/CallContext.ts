import type { HostLog } from "@svc/providers/Host"
import { Effect, type Fiber, FiberId } from "effect"
import type { JoinableCalls } from "./AttendedTransfer.ts"
import type { Codec } from "./Codec.ts"
import type { Account } from "./dialog/Account.ts"
import type { CallEvent } from "./dialog/Output.ts"
import type { PeerTimeouts } from "./PeerWatch.ts"
import type { PhoneTargets } from "./PhoneTargets.ts"
import type { RtpMedia } from "./rtp/RtpMedia.ts"
import type { Transport } from "./Settings.ts"
import type { Signaling } from "./Signaling.ts"
import type { SipCallOptions } from "./SipCall.ts"
import type { Encryption } from "./sdp/Negotiation.ts"
import { addressAt, type Trunk, targetAt } from "./Trunk.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/** What the calls of a process share. */
export interface CallContext {
  readonly signaling: Signaling
  readonly media: RtpMedia
  readonly log: HostLog
  /** In the order of preference. */
  readonly codecs: ReadonlyArray<Codec>
  readonly trunks: ReadonlyArray<Trunk>
  /** The phones that have registered with us; undefined: no phone may register. */
  readonly phones: PhoneTargets | undefined
  /** The trunk to which a call from this address belongs; `user`: that of its Request-URI. */
  readonly trunkAt: (address: string, user: string | undefined) => Trunk | undefined
  /** Our account at the trunk that has this address; undefined: the address is of no trunk, or the trunk has no account. */
  readonly accountAt: (address: string, user: string | undefined) => Account | undefined
  /** Whether what this address says of callers is believed: it is of a trunk, or in SVC_SIP_ALLOW. */
  readonly isTrusted: (address: string) => boolean
  readonly transfer: "auto" | "refer" | "bridge"
  /** Whether the audio of calls over a transport is encrypted. */
  readonly encryptionOver: (transport: Transport) => Encryption
  readonly peerTimeouts: PeerTimeouts
  /** The answered calls, by their legs. */
  readonly joinable: JoinableCalls
  /** Runs an effect until it ends, or the plugin stops. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  /** Who listens to the events of a call, until it is over. */
  readonly listeners: Map<string, (event: CallEvent) => void>
}

/** One call. */
export interface CallFacts {
  readonly call: string
  readonly peer: string
  readonly user: string
  /** The trunk that transfers it. */
  readonly trunk: Trunk | undefined
}

/** What an answered call needs of the context. `peer` is an address of the other side, `user` our number. */
export const callOptions = (context: CallContext, { call, peer, trunk, user }: CallFacts): SipCallOptions => {
  const { fork, signaling, transfer } = context
  const sleeping = new Set<Fiber.RuntimeFiber<void>>()
  const host = bracketed(signaling.addressFor(peer))
  return {
    carrierCallId: signaling.agent.callId(call) ?? call,
    command: (command) => signaling.perform(signaling.agent.command(call, command, signaling.now())),
    fork,
    now: signaling.now,
    peerTimeouts: context.peerTimeouts,
    later: (ms, run) => {
      const fiber = fork(Effect.zipRight(Effect.sleep(ms), Effect.sync(run)))
      sleeping.add(fiber)
      fiber.addObserver(() => sleeping.delete(fiber))
    },
    stop: () => {
      for (const fiber of sleeping) fiber.unsafeInterruptAsFork(FiberId.none)
    },
    refer:
      transfer === "bridge"
        ? undefined
        : (target) =>
            // The peer cannot reach phones that have registered with us.
            context.phones?.at(target) === undefined
              ? {
                  target: targetAt(trunk, bracketed(peer), target),
                  by: trunk === undefined ? `sip:${user}@${host}` : addressAt(trunk, user)
                }
              : undefined,
    isFallback: transfer === "auto"
  }
}

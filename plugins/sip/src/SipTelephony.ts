import { healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { PluginError } from "@svc/providers/Plugin"
import { type IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Effect, FiberSet, Layer, Queue, Redacted, Stream } from "effect"
import type { CallContext } from "./CallContext.ts"
import { matcher } from "./Cidr.ts"
import type { AgentEvent } from "./dialog/AgentEffect.ts"
import type { CallEvent } from "./dialog/Output.ts"
import * as InboundCalls from "./InboundCalls.ts"
import * as OutboundCalls from "./OutboundCalls.ts"
import { type PeerTimeouts, usualPeerTimeouts } from "./PeerWatch.ts"
import * as RtpMedia from "./rtp/RtpMedia.ts"
import { allowOf, bindOf, codecsOf, portsOf, type Settings, transportsOf, trunkOf } from "./Settings.ts"
import * as Signaling from "./Signaling.ts"
import { type Trunk, transportOf } from "./Trunk.ts"
import * as TrunkRegistration from "./TrunkRegistration.ts"
import * as Dns from "./transport/Dns.ts"
import type { Names } from "./transport/Locator.ts"
import type { TlsFileFailed } from "./transport/TlsFiles.ts"
import type { ListenFailed } from "./transport/Udp.ts"

/** Sources that are allowed without SVC_SIP_ALLOW, beside the trunk: this machine and private networks. */
const privateRanges: ReadonlyArray<string> = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "::1",
  "fc00::/7",
  "fe80::/10"
]

const trunkIn = ({ trunkPassword, trunkUri, trunkUsername }: Settings): Trunk | undefined => {
  const uri = trunkUri === undefined ? undefined : trunkOf(trunkUri)
  if (uri === undefined) return undefined
  const password = trunkPassword === undefined ? "" : Redacted.value(trunkPassword)
  return { uri, account: trunkUsername === undefined ? undefined : { username: trunkUsername, password } }
}

const failed = (reason: string): PluginError => new PluginError({ plugin: "sip", reason })

const notOpened = (failure: ListenFailed | TlsFileFailed): PluginError => {
  if (failure._tag === "TlsFileFailed") return failed(`${failure.setting}: ${failure.reason}`)
  const { address, code, port, transport } = failure
  const setting = transport === "tls" ? "SVC_SIP_TLS_BIND" : "SVC_SIP_BIND"
  return failed(
    `${setting}: cannot listen on ${transport} ${address}:${port} (${code}); choose a free address and port`
  )
}

/** The port of TLS, on the address of the other transports where none is given, and its files. */
const tlsOf = (
  { tlsBind, tlsCa, tlsCert, tlsKey }: Settings,
  bind: { readonly address: string }
): Effect.Effect<Signaling.SignalingOptions["tls"], PluginError> => {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [given, missing] = tlsKey === undefined ? ["CERT", "KEY"] : ["KEY", "CERT"]
    return failed(`SVC_SIP_TLS_${given} needs SVC_SIP_TLS_${missing}: the certificate's files are two`)
  }
  return Effect.succeed({
    bind: (tlsBind === undefined ? undefined : bindOf(tlsBind)) ?? { address: bind.address, port: 5061 },
    files: {
      ...(tlsCert === undefined || tlsKey === undefined ? {} : { own: { certificate: tlsCert, key: tlsKey } }),
      ...(tlsCa === undefined ? {} : { authorities: tlsCa })
    }
  })
}

/** The addresses that the trunk has when the server starts; its calls come from there. */
const trunkAddresses = (trunk: Trunk | undefined, names: Names): Effect.Effect<ReadonlyArray<string>> => {
  if (trunk === undefined) return Effect.succeed([])
  const host = trunk.uri.host.replace(/^\[|\]$/g, "")
  return Effect.map(names.addresses(host), (found) => [...found, host])
}

/** What tests replace. */
export interface Replacements {
  readonly names?: Names
  /** Whether messages of an address are read, in place of SVC_SIP_ALLOW. */
  readonly isAllowed?: (address: string) => boolean
  readonly peerTimeouts?: Partial<PeerTimeouts>
}

/** Telephony over SIP and RTP. See README.md for the settings. */
export const layer = (
  settings: Settings,
  host: Pick<Host, "log">,
  replacements: Replacements = {}
): Layer.Layer<Telephony, PluginError> =>
  Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const { allow, callsPerSource = 100, externalAddress, register = false, requestsPerSecond = 1000 } = settings
      const { names = Dns.names, peerTimeouts } = replacements
      const bind = bindOf(settings.bind ?? "0.0.0.0:5060") ?? { address: "0.0.0.0", port: 5060 }
      const ports = portsOf(settings.rtpPorts ?? "20000-21999") ?? { first: 20_000, last: 21_999 }
      const transports = transportsOf(settings.transports ?? "udp,tcp")
      const codecs = codecsOf(settings.codecs ?? "PCMA,PCMU")
      const trunk = trunkIn(settings)
      if (trunk !== undefined && transportOf(trunk) === "tls" && !transports.includes("tls")) {
        return yield* failed("SVC_SIP_TRUNK_URI names a trunk over TLS: add tls to SVC_SIP_TRANSPORTS")
      }
      if (register && trunk?.account === undefined) {
        const reason = "SVC_SIP_REGISTER needs SVC_SIP_TRUNK_URI and SVC_SIP_TRUNK_USERNAME"
        return yield* new PluginError({ plugin: "sip", reason })
      }
      const ranges = allow === undefined ? [...privateRanges, ...(yield* trunkAddresses(trunk, names))] : allowOf(allow)
      const { isAllowed = matcher(ranges) } = replacements
      const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
      const fork = yield* FiberSet.makeRuntime<never>()
      const listeners = new Map<string, (event: CallEvent) => void>()
      const tls = yield* tlsOf(settings, bind)
      const media = yield* RtpMedia.make({ address: bind.address, firstPort: ports.first, lastPort: ports.last })
      let registration: TrunkRegistration.TrunkRegistration | undefined

      const onEvent = (event: AgentEvent): void => {
        if (event._tag === "Event") listeners.get(event.call)?.(event.event)
        else if (event._tag === "Incoming")
          InboundCalls.take(context, event, (call) => Queue.unsafeOffer(incoming, call))
        else registration?.on(event)
      }
      const signaling = yield* Signaling.open(
        {
          bind,
          transports,
          tls,
          externalAddress,
          isAllowed,
          requestsPerSecond,
          callsPerSource,
          names,
          log: host.log
        },
        onEvent
      ).pipe(Effect.mapError(notOpened))
      const transfer = settings.transfer ?? "auto"
      const context: CallContext = {
        signaling,
        media,
        codecs,
        trunk,
        transfer,
        peerTimeouts: {
          ...usualPeerTimeouts,
          ...(settings.mediaTimeoutSeconds === undefined ? {} : { media: settings.mediaTimeoutSeconds * 1000 }),
          ...peerTimeouts
        },
        fork,
        listeners
      }
      // Calls are ended while the sockets are open, so that phones hear of it.
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const call of [...listeners.keys()]) {
            signaling.perform(
              signaling.agent.command(call, { _tag: "Hangup", reason: "shutting down" }, signaling.now())
            )
          }
        })
      )
      if (trunk !== undefined && register) registration = yield* TrunkRegistration.start(signaling, trunk, host.log)
      host.log.info(`SIP on ${bind.address}:${signaling.port}`)
      if (signaling.tlsPort !== undefined) host.log.info(`SIP over TLS on ${tls.bind.address}:${signaling.tlsPort}`)
      return {
        id: "sip",
        capabilities: {
          formats: codecs.map(({ format }) => format),
          dtmfIn: true,
          dtmfOut: true,
          transfer: transfer === "bridge" ? "none" : "refer",
          earlyMedia: true,
          playbackMarks: "none"
        },
        incoming: Stream.fromQueue(incoming),
        ...(trunk === undefined ? {} : { outbound: OutboundCalls.make(context, trunk) }),
        health: Effect.sync(() => registration?.health() ?? healthy),
        routes: []
      } as const
    })
  )

import { type Health, healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { PluginError } from "@svc/providers/Plugin"
import { type IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Effect, FiberSet, Layer, Queue, Redacted, Stream } from "effect"
import * as AttendedTransfer from "./AttendedTransfer.ts"
import { Registrar } from "./auth/Registrar.ts"
import { algorithmsOf, usersOf } from "./auth/Users.ts"
import type { CallContext } from "./CallContext.ts"
import { matcher } from "./Cidr.ts"
import type { AgentEvent } from "./dialog/AgentEffect.ts"
import type { CallEvent } from "./dialog/Output.ts"
import * as InboundCalls from "./InboundCalls.ts"
import { LiveCallList } from "./LiveCallList.ts"
import * as Uri from "./message/Uri.ts"
import * as OutboundCalls from "./OutboundCalls.ts"
import { type PeerTimeouts, usualPeerTimeouts } from "./PeerWatch.ts"
import * as PhoneTargets from "./PhoneTargets.ts"
import * as RtpMedia from "./rtp/RtpMedia.ts"
import { allowOf, bindOf, codecsOf, portsOf, type Settings, transportsOf } from "./Settings.ts"
import * as Signaling from "./Signaling.ts"
import { privateRanges, startWarnings } from "./StartWarnings.ts"
import { notRegistering, statusRoute } from "./Status.ts"
import { type Trunk, trunksOf } from "./Trunk.ts"
import * as TrunkProbe from "./TrunkProbe.ts"
import * as TrunkRegistration from "./TrunkRegistration.ts"
import * as TrunkSources from "./TrunkSources.ts"
import * as Dns from "./transport/Dns.ts"
import { bracketed } from "./transport/LocalAddress.ts"
import type { Names } from "./transport/Locator.ts"
import type { TlsFileFailed } from "./transport/TlsFiles.ts"
import type { ListenFailed } from "./transport/Udp.ts"

const failed = (reason: string): PluginError => new PluginError({ plugin: "sip", reason })

const notOpened = (failure: ListenFailed | TlsFileFailed): PluginError => {
  if (failure._tag === "TlsFileFailed") return failed(`${failure.setting}: ${failure.reason}`)
  const { address, code, port, transport } = failure
  const setting = transport === "tls" ? "SVC_SIP_TLS_BIND" : "SVC_SIP_BIND"
  return failed(
    `${setting}: cannot listen on ${transport} ${bracketed(address)}:${port} (${code}); choose a free address and port`
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

/** The first that is not healthy. */
const healthOf = (all: ReadonlyArray<TrunkRegistration.TrunkRegistration>): Health =>
  all.map((each) => each.health()).find((each) => !each.healthy) ?? healthy

/** Whether the trunks work, asked now. */
const checkOf = (
  trunks: ReadonlyArray<Trunk>,
  registrations: ReadonlyMap<Trunk, TrunkRegistration.TrunkRegistration>,
  probe: TrunkProbe.TrunkProbe
): Effect.Effect<Health> =>
  Effect.map(
    Effect.forEach(
      trunks,
      (trunk) => {
        const registration = registrations.get(trunk)
        return registration === undefined
          ? probe.ask(trunk)
          : Effect.map(registration.settled, () => registration.health())
      },
      { concurrency: "unbounded" }
    ),
    (all) => all.find((each) => !each.healthy) ?? healthy
  )

/** What tests replace. */
export interface Replacements {
  readonly names?: Names
  /** Whether messages of an address are read, in place of SVC_SIP_ALLOW. */
  readonly isAllowed?: (address: string) => boolean
  readonly peerTimeouts?: Partial<PeerTimeouts>
  /** Gets the parts whose counts show what is left of calls. */
  readonly opened?: (parts: Pick<CallContext, "signaling" | "media">) => void
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
      const { allow, callsPerSource = 100, externalAddress, requestsPerSecond = 1000 } = settings
      const { names = Dns.names, peerTimeouts } = replacements
      const bind = bindOf(settings.bind ?? "0.0.0.0:5060") ?? { address: "0.0.0.0", port: 5060 }
      const ports = portsOf(settings.rtpPorts ?? "20000-21999") ?? { first: 20_000, last: 21_999 }
      const transports = transportsOf(settings.transports ?? "udp,tcp")
      const codecs = codecsOf(settings.codecs ?? "PCMA,PCMU")
      const trunks = trunksOf(settings, transports)
      if ("problem" in trunks) return yield* failed(trunks.problem)
      const sources = yield* TrunkSources.make(trunks, names, transports)
      const given = settings.users === undefined ? undefined : usersOf(Redacted.value(settings.users))
      const algorithms = algorithmsOf(settings.usersDigest)
      const users = given === undefined ? undefined : { ...given, algorithms, registrar: new Registrar() }
      // Phones with passwords use them also on private networks.
      const unset = users === undefined ? privateRanges : []
      const isInRange = matcher(allow === undefined ? unset : allowOf(allow))
      const { isAllowed = (address) => isInRange(address) || sources.isTrunk(address) } = replacements
      const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
      const fork = yield* FiberSet.makeRuntime<never>()
      const listeners = new Map<string, (event: CallEvent) => void>()
      const tls = yield* tlsOf(settings, bind)
      const media = yield* RtpMedia.make({
        address: bind.address,
        announced: externalAddress,
        firstPort: ports.first,
        lastPort: ports.last
      })
      const registrations = new Map<Trunk, TrunkRegistration.TrunkRegistration>()

      const probe = TrunkProbe.make(() => signaling)

      const onEvent = (event: AgentEvent): void => {
        if (event._tag === "Event") listeners.get(event.call)?.(event.event)
        else if (event._tag === "Incoming")
          InboundCalls.take(context, event, (call) => Queue.unsafeOffer(incoming, calls.incoming(call)))
        else for (const each of [probe, ...registrations.values()]) each.on(event)
      }
      const signaling = yield* Signaling.open(
        {
          bind,
          transports,
          tls,
          externalAddress,
          isAllowed,
          users,
          requestsPerSecond,
          callsPerSource,
          names,
          log: host.log
        },
        onEvent
      ).pipe(Effect.mapError(notOpened))
      const calls = new LiveCallList(signaling.now)
      const transfer = settings.transfer ?? "auto"
      const context: CallContext = {
        signaling,
        media,
        log: host.log,
        codecs,
        trunks,
        phones: users === undefined ? undefined : PhoneTargets.make(users, signaling.now, signaling.addressFor),
        trunkAt: (address, user) =>
          sources.trunkAt(address, user) ??
          trunks.find(({ account }) => account !== undefined && account.username === user) ??
          trunks[0],
        accountAt: (address, user) => sources.trunkAt(address, user)?.account,
        isTrusted: isAllowed,
        transfer,
        joinable: new AttendedTransfer.JoinableCalls(),
        peerTimeouts: {
          ...usualPeerTimeouts,
          ...(settings.mediaTimeoutSeconds === undefined ? {} : { media: settings.mediaTimeoutSeconds * 1000 }),
          ...peerTimeouts
        },
        // Keys are as secret as the signaling that carries them: without TLS they are only sent where that is asked.
        encryptionOver: (transport) => settings.srtp ?? (transport === "tls" ? "optional" : "off"),
        fork,
        listeners
      }
      replacements.opened?.(context)
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
      yield* Effect.forEach(
        trunks.filter(({ register }) => register),
        (trunk) =>
          Effect.map(TrunkRegistration.start(signaling, trunk, host.log), (started) =>
            registrations.set(trunk, started)
          ),
        { discard: true }
      )
      const warnings = startWarnings({
        bind: bind.address,
        isLimited: allow !== undefined || users !== undefined,
        trunks,
        addressesOf: sources.of,
        addressFor: signaling.addressFor
      })
      for (const warning of warnings) host.log.warning(`SIP: ${warning}`)
      host.log.info(`SIP on ${bracketed(bind.address)}:${signaling.port}`)
      if (signaling.tlsPort !== undefined) {
        host.log.info(`SIP over TLS on ${bracketed(tls.bind.address)}:${signaling.tlsPort}`)
      }
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
        ...(trunks.length === 0 && users === undefined
          ? {}
          : { outbound: calls.outbound(OutboundCalls.make(context, host.log)) }),
        ...(transfer === "bridge" ? {} : { bridge: AttendedTransfer.join(context) }),
        health: Effect.sync(() => healthOf([...registrations.values()])),
        check: checkOf(trunks, registrations, probe),
        routes: [
          statusRoute({
            listening: { address: bind.address, port: signaling.port, transports },
            trunks: () =>
              trunks.map((trunk) => ({
                trunk: Uri.text({ ...trunk.uri, user: undefined }),
                ...(registrations.get(trunk)?.status() ?? notRegistering)
              })),
            calls,
            ignored: () => signaling.ignored
          })
        ]
      } as const
    })
  )

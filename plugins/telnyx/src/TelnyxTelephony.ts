import { join } from "node:path"
import * as BatchedMedia from "@svc/providers/BatchedMedia"
import type { Health } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import type { IncomingSms } from "@svc/providers/Messaging"
import { PluginError } from "@svc/providers/Plugin"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { type IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Effect, FiberSet, Layer, Queue, Schedule, Stream } from "effect"
import * as CallFiles from "./CallFiles.ts"
import type { CallNetwork } from "./CallNetwork.ts"
import { codecs } from "./Codec.ts"
import * as Commands from "./Commands.ts"
import * as Connections from "./Connections.ts"
import { MediaStreams } from "./MediaStreams.ts"
import * as OutgoingCalls from "./OutgoingCalls.ts"
import type { Settings } from "./Settings.ts"
import { publicKeyOf } from "./Signature.ts"
import * as TelnyxApi from "./TelnyxApi.ts"
import * as TelnyxMessaging from "./TelnyxMessaging.ts"
import * as TelnyxNumbers from "./TelnyxNumbers.ts"
import * as TelnyxRegulatory from "./TelnyxRegulatory.ts"
import * as Transfer from "./Transfer.ts"
import * as Webhooks from "./Webhooks.ts"

/** How often calls are checked for silence. */
const checkEvery = "5 seconds"

const withoutAddress: Health = {
  healthy: false,
  reason: "SVC_BASE_URL is not set, so Telnyx cannot reach this server: set it to the public address"
}

/** Telephony by Telnyx: Call Control with media streams, messages, numbers and addresses. See README.md. */
export const layer = (settings: Settings, host: Host): Layer.Layer<Telephony, PluginError> =>
  Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const { machineDetection = "detect", connectionId, messagingProfileId } = settings
      const key = publicKeyOf(settings.publicKey)
      if (key === undefined) {
        return yield* new PluginError({ plugin: "telnyx", reason: "SVC_TELNYX_PUBLIC_KEY is no public key" })
      }
      const flushAfter = yield* SharedTimeout.make(BatchedMedia.flushAfterMs)
      const api = yield* TelnyxApi.make(settings, host)
      const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
      const messages = yield* Effect.acquireRelease(Queue.unbounded<IncomingSms>(), Queue.shutdown)
      const fork = yield* FiberSet.makeRuntime<never>()
      const refused = host.metrics.counter("webhooks_refused", {
        description: "Webhooks without a valid signature"
      })
      const replaced = host.metrics.counter("streams_reopened", {
        description: "Media streams that were asked for again in a call"
      })
      const baseUrl = host.baseUrl ?? ""
      const webhookUrl = `${baseUrl}/telephony/telnyx/voice`
      const streams = new MediaStreams(baseUrl)
      const network: CallNetwork = {
        commands: Commands.make(api, (id, reason) =>
          host.log.error(`A call could not be hung up, and may go on at Telnyx: ${reason}`, { call_control_id: id })
        ),
        streams,
        listeners: { byId: new Map(), byState: new Map(), bySession: new Map() },
        webhookUrl,
        fork: (effect) => void fork(effect),
        now: flushAfter.now,
        flushAfter,
        transferLimit: yield* SharedTimeout.make(Transfer.outcomeMs),
        log: host.log,
        files: CallFiles.make(join(host.folder, "calls")),
        onStreamReplaced: () => replaced.add(),
        live: new Set()
      }
      const { left } = network.files
      for (const id of yield* left) {
        host.log.warning("A call of a server that was killed is hung up", { call_control_id: id })
        network.fork(Effect.zipRight(network.commands.hangup(id), network.files.remove(id)))
      }
      const isAlive = (id: string) =>
        api.request({ method: "GET", path: `/calls/${encodeURIComponent(id).replaceAll("%3A", ":")}` }).pipe(
          Effect.map((body) => {
            const { is_alive: alive } = Object(TelnyxApi.dataOf(body))
            return typeof alive === "boolean" ? alive : undefined
          }),
          Effect.orElseSucceed(() => undefined)
        )
      // The callers of a server that stops must not be left in silence.
      yield* Effect.addFinalizer(() =>
        Effect.forEach([...network.live], ({ shutDown }) => shutDown, { concurrency: "unbounded", discard: true }).pipe(
          Effect.timeoutOption("5 seconds")
        )
      )
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.sync(() => {
            for (const call of network.live) call.check()
          }),
          Schedule.spaced(checkEvery)
        )
      )
      const handle = Webhooks.make({
        key,
        network,
        isAlive,
        log: host.log,
        onRefused: () => refused.add(),
        offerCall: (call) => void Queue.unsafeOffer(incoming, call),
        offerSms: (sms) => void Queue.unsafeOffer(messages, sms)
      })
      const connections = Connections.make({ api, fixed: connectionId, webhookUrl })
      // The log says at the start when calls do not reach this server.
      if (host.baseUrl !== null) yield* Effect.forkScoped(connections.own)
      return {
        id: "telnyx",
        capabilities: {
          formats: codecs.map(({ format }) => format),
          dtmfIn: true,
          dtmfOut: true,
          transfer: "bridge",
          earlyMedia: false,
          playbackMarks: "echoed"
        },
        incoming: Stream.fromQueue(incoming),
        outbound: OutgoingCalls.make({
          network,
          api,
          detection: machineDetection,
          connectionOf: connections.of,
          isAlive
        }),
        health: host.baseUrl === null ? Effect.succeed(withoutAddress) : api.health,
        sms: TelnyxMessaging.make({ api, profile: messagingProfileId, incoming: Stream.fromQueue(messages) }),
        numbers: yield* TelnyxNumbers.make({
          api,
          folder: host.folder,
          connection: connections.own,
          profile: messagingProfileId
        }),
        regulatory: yield* TelnyxRegulatory.make({ api, log: host.log }),
        routes: [
          { _tag: "Http", method: "POST", path: "/voice", handle },
          { _tag: "Http", method: "POST", path: "/sms", handle },
          { _tag: "WebSocket", path: "/media", accept: streams.accept }
        ]
      } as const
    })
  )

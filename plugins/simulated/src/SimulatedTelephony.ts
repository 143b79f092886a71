import { randomUUID } from "node:crypto"
import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import type { Route, RouteResponse } from "@svc/providers/Route"
import { DialFailed, type IncomingCall, type Outbound, Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, Queue, Stream } from "effect"
import { type CallRequest, CallRequests } from "./CallRequests.ts"
import { Directory } from "./Network/Directory.ts"
import { NetworkClock } from "./Network/NetworkClock.ts"
import { NetworkPhone } from "./Network/NetworkPhone.ts"
import { ring } from "./Network/Ringing.ts"
import { SimulatedMessaging } from "./Network/SimulatedMessaging.ts"
import { makeTransfers } from "./Network/Transfers.ts"

const json = (status: number, body: unknown): RouteResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body)
})

const describeCall = (callId: string, request: CallRequest | undefined): RouteResponse => {
  if (request !== undefined) return json(200, request)
  const message = `the simulated network knows no call ${callId}`
  return json(404, { code: "CALL_NOT_FOUND", message, error: message })
}

/**
 * A telephone network in this process. Phones are WebSockets at its mount point (`/telephony/simulated`); their
 * messages are in `@svc/providers/SimulatedNetwork`. `GET calls/<call_id>` returns the speech requests of a call, `GET
 * sms` the text messages that were sent, as `{ messages: [{ id, to, from, message }] }`, oldest first.
 */
export const SimulatedTelephony: Layer.Layer<Telephony, never, CallRequests | NetworkClock> = Layer.scoped(
  Telephony,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    const clock = yield* NetworkClock
    const calls = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
    const phones = new Set<NetworkPhone>()
    const directory = new Directory<NetworkPhone>()
    const transfers = yield* makeTransfers(directory)
    const messages = new SimulatedMessaging((sms) => {
      for (const phone of phones) phone.text(sms)
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const phone of phones) phone.shutDown()
        phones.clear()
      })
    )
    let dialled = 0
    const routes: ReadonlyArray<Route> = [
      {
        _tag: "WebSocket",
        path: "",
        accept: (socket) => {
          const phone = new NetworkPhone(socket, {
            clock,
            directory,
            transfers,
            offer: (call) => Queue.unsafeOffer(calls, call),
            onCallId: (callId) => requests.record(callId, {}),
            nextCall: () => ({ id: randomUUID(), seed: ++dialled }),
            onClosed: () => phones.delete(phone)
          })
          phones.add(phone)
          phone.open()
        }
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/calls/:call_id",
        handle: ({ params }) =>
          Effect.sync(() => {
            const callId = params.call_id ?? ""
            return describeCall(callId, requests.get(callId))
          })
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/sms",
        handle: () => Effect.sync(() => json(200, { messages: messages.messages }))
      }
    ]
    const dial: Outbound["dial"] = ({ callId, formats, from, to }) =>
      Effect.gen(function* () {
        if (!formats.some((f) => f.encoding === mulaw8k.encoding && f.sampleRate === mulaw8k.sampleRate)) {
          return yield* new DialFailed({
            outcome: "failed",
            reason: "the simulated network speaks mu-law at 8 kHz only"
          })
        }
        const { audio, behaviour, phone } = yield* Effect.mapError(
          ring(directory, { from, to, onRinging: () => {}, needsFreePhone: true }),
          (failed) => new DialFailed(failed)
        )
        const leg = phone.connect({ callId, to, audio, voicemail: behaviour === "voicemail" })
        return leg ?? (yield* new DialFailed({ outcome: "busy", reason: "the phone took another call" }))
      })
    return {
      id: "simulated",
      capabilities: {
        formats: [mulaw8k],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "bridge",
        earlyMedia: false,
        playbackMarks: "exact"
      },
      incoming: Stream.fromQueue(calls),
      outbound: { dial },
      health: Effect.succeed(healthy),
      sms: messages.messaging,
      routes
    }
  })
)

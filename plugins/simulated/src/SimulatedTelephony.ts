import { randomUUID } from "node:crypto"
import { healthy } from "@svc/providers/Health"
import type { Route, RouteRequest, RouteResponse } from "@svc/providers/Route"
import { DialFailed, type IncomingCall, type Outbound, Telephony } from "@svc/providers/Telephony"
import { Config, Effect, FiberSet, Layer, Queue, Stream } from "effect"
import { type CallRequest, CallRequests } from "./CallRequests.ts"
import { CarrierRecords } from "./Carrier/CarrierRecords.ts"
import type { CarrierState } from "./Carrier/CarrierState.ts"
import { simulatedNumbers, simulatedRegulatory } from "./Carrier/SimulatedCarrier.ts"
import { alaw, lawAmong, mulaw } from "./Law.ts"
import { Directory } from "./Network/Directory.ts"
import { unknownFormat } from "./Network/InboundCall.ts"
import { NetworkClock } from "./Network/NetworkClock.ts"
import { NetworkPhone } from "./Network/NetworkPhone.ts"
import { refuseForeign } from "./Network/Origin.ts"
import { ring } from "./Network/Ringing.ts"
import { simulatedMessaging } from "./Network/SimulatedMessaging.ts"
import { makeTransfers } from "./Network/Transfers.ts"
import { CallRealism } from "./Realism/CallRealism.ts"

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
 * sms` the text messages that were sent, as `{ messages: [{ id, to, from, message }] }`, oldest first, `GET numbers` the
 * rented numbers and how often each operation was carried out, as `{ rented: [{ number, carrier_id }], operations }`.
 */
export const SimulatedTelephony: Layer.Layer<
  Telephony,
  never,
  CallRealism | CallRequests | CarrierRecords | NetworkClock
> = Layer.scoped(
  Telephony,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    const clock = yield* NetworkClock
    const calls = yield* CallRealism
    const baseUrl = yield* Config.string("SVC_BASE_URL").pipe(Effect.orElseSucceed(() => undefined))
    const refuse = refuseForeign(baseUrl)
    const records = yield* CarrierRecords
    const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
    const phones = new Set<NetworkPhone>()
    const directory = new Directory<NetworkPhone>()
    const transfers = yield* makeTransfers(directory)
    const sms = simulatedMessaging(records, (sms) => {
      for (const phone of phones) phone.text(sms)
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const phone of phones) phone.shutDown()
        phones.clear()
      })
    )
    const run = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
    let dialled = 0
    const view =
      (of: (state: CarrierState) => unknown) =>
      (request: RouteRequest): Effect.Effect<RouteResponse> =>
        Effect.match(records.state, {
          onFailure: ({ reason }) => json(503, { code: "UNAVAILABLE", message: reason, error: reason }),
          onSuccess: (state) => refuse(request) ?? json(200, of(state))
        })
    const routes: ReadonlyArray<Route> = [
      {
        _tag: "WebSocket",
        path: "",
        refuse,
        accept: (socket) => {
          const phone = new NetworkPhone(socket, {
            clock,
            realism: {
              of: (callId) => calls.of(callId).leg,
              random: (callId) => calls.random(callId, "packet")
            },
            directory,
            transfers,
            offer: (call) => Queue.unsafeOffer(incoming, call),
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
        handle: (request) =>
          Effect.sync(() => {
            const callId = request.params.call_id ?? ""
            return refuse(request) ?? describeCall(callId, requests.get(callId))
          })
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/sms",
        handle: view(({ messages }) => ({ messages }))
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/numbers",
        handle: view(({ operations, rented }) => ({ rented: [...rented.values()], operations }))
      }
    ]
    const dial: Outbound["dial"] = ({ callId, formats, from, to }, { onRinging = () => {} } = {}) =>
      Effect.gen(function* () {
        const law = lawAmong(formats)
        if (law === undefined) return yield* new DialFailed({ outcome: "failed", reason: unknownFormat })
        const { answerer, audio, behaviour, phone } = yield* Effect.mapError(
          ring(directory, { from, to, onRinging, needsFreePhone: true }),
          (failed) => new DialFailed(failed)
        )
        const call = phone.connect({ callId, to, law, audio, voicemail: behaviour === "voicemail" })
        if (call === undefined) return yield* new DialFailed({ outcome: "busy", reason: "the phone took another call" })
        if (answerer !== undefined) {
          const report = Effect.sync(() => call.reportAnswerer(answerer.verdict))
          run(Effect.delay(report, answerer.ms))
        }
        return call.leg
      })
    return {
      id: "simulated",
      capabilities: {
        formats: [mulaw.format, alaw.format],
        dtmfIn: true,
        dtmfOut: true,
        transfer: "bridge",
        earlyMedia: false,
        playbackMarks: "exact"
      },
      incoming: Stream.fromQueue(incoming),
      outbound: { dial },
      health: Effect.succeed(healthy),
      sms,
      numbers: simulatedNumbers(records),
      regulatory: simulatedRegulatory(records),
      routes
    }
  })
)

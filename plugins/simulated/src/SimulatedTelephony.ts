import { randomUUID } from "node:crypto"
import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import type { Route, RouteResponse } from "@svc/providers/Route"
import { DialFailed, type IncomingCall, type Outbound, Telephony } from "@svc/providers/Telephony"
import { Effect, Layer, Queue, Stream } from "effect"
import { type CallRequest, CallRequests } from "./CallRequests.ts"
import { Directory } from "./Network/Directory.ts"
import { MessageBoard } from "./Network/MessageBoard.ts"
import { NetworkClock } from "./Network/NetworkClock.ts"
import { PhoneLine } from "./Network/PhoneLine.ts"
import { ring } from "./Network/Ringing.ts"
import { makeTransfers } from "./Network/Transfers.ts"

const json = (status: number, body: unknown): RouteResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body)
})

const describe = (callId: string, request: CallRequest | undefined): RouteResponse => {
  if (request !== undefined) return json(200, request)
  const message = `the simulated network knows no call ${callId}`
  return json(404, { code: "CALL_NOT_FOUND", message, error: message })
}

/**
 * A telephone network in the process. Phones are WebSockets at its mount point (`/telephony/simulated`); their messages are in
 * `@svc/providers/SimulatedNetwork`. `GET calls/<call_id>` tells what the speech providers were asked for in a call, `GET sms` all
 * messages that were sent, as `{ messages: [{ id, to, from, message }] }`, oldest first.
 */
export const SimulatedTelephony: Layer.Layer<Telephony, never, CallRequests | NetworkClock> = Layer.scoped(
  Telephony,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    const clock = yield* NetworkClock
    const calls = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
    const lines = new Set<PhoneLine>()
    const directory = new Directory<PhoneLine>()
    const transfers = yield* makeTransfers(directory)
    const board = new MessageBoard((sms) => {
      for (const line of lines) line.text(sms)
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const line of lines) line.shutDown()
        lines.clear()
      })
    )
    let dialled = 0
    const routes: ReadonlyArray<Route> = [
      {
        _tag: "WebSocket",
        path: "",
        accept: (socket) => {
          const line = new PhoneLine(socket, {
            clock,
            directory,
            transfers,
            offer: (call) => Queue.unsafeOffer(calls, call),
            named: (callId) => requests.record(callId, {}),
            nextCall: () => ({ id: randomUUID(), seed: ++dialled }),
            closed: () => lines.delete(line)
          })
          lines.add(line)
          line.open()
        }
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/calls/:call_id",
        handle: ({ params }) =>
          Effect.sync(() => {
            const callId = params.call_id ?? ""
            return describe(callId, requests.get(callId))
          })
      },
      {
        _tag: "Http",
        method: "GET",
        path: "/sms",
        handle: () => Effect.sync(() => json(200, { messages: board.messages }))
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
        const { audio, behaviour, line } = yield* Effect.mapError(
          ring(directory, { from, to, onRinging: () => {}, needsLine: true }),
          (failed) => new DialFailed(failed)
        )
        const leg = line.connect({ callId, to, audio, voicemail: behaviour === "voicemail" })
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
      sms: board.messaging,
      routes
    }
  })
)

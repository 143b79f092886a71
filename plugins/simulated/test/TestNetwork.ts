import { legFormats, mulaw8k } from "@svc/providers/Audio"
import type { Messaging } from "@svc/providers/Messaging"
import type { Route, RouteSocket } from "@svc/providers/Route"
import type { ClientMessage } from "@svc/providers/SimulatedNetwork"
import { type CallEvent, type CallLeg, type DialFailed, type IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Context, Effect, Layer, type Scope, Stream } from "effect"
import { CallRequests } from "../src/CallRequests.ts"
import { CarrierRecords } from "../src/Carrier/CarrierRecords.ts"
import { alaw, type Law, mulaw } from "../src/Law.ts"
import { ManualTime } from "../src/Network/ManualTime.ts"
import { type MediaClock, NetworkClock } from "../src/Network/NetworkClock.ts"
import { CallRealism } from "../src/Realism/CallRealism.ts"
import { SimulatedTelephony } from "../src/SimulatedTelephony.ts"
import { type Outcome, ToneDecoder } from "../src/ToneSpeech/ToneDecoder.ts"
import { ToneEncoder } from "../src/ToneSpeech/ToneEncoder.ts"
import { lawFrame } from "../src/ToneSpeech/ToneFrames.ts"
import { FakeSocket, routeRequest } from "./FakeSocket.ts"

/** An answered call as the engine sees it: its events, and the texts decoded from its audio. */
export class AnsweredCall {
  readonly events: Array<CallEvent> = []
  readonly heard: Array<{ readonly text: string; readonly outcome: Outcome }> = []
  /** The number of 20 ms frames received. */
  frames = 0
  readonly leg: CallLeg
  /** The packets in the order in which they came, of a leg that numbers them. */
  readonly packets: Array<{ readonly sequence: number; readonly timestamp: number }> = []
  readonly #law: Law
  #onEvent: (event: CallEvent) => void = () => {}

  constructor(leg: CallLeg) {
    this.leg = leg
    this.#law = leg.format.encoding === "alaw" ? alaw : mulaw
    const pcm = new Int16Array(160)
    const decoder = new ToneDecoder({
      started: () => {},
      progressed: () => {},
      ended: (text, outcome) => this.heard.push({ text, outcome })
    })
    leg.listen((event) => {
      this.#onEvent(event)
      if (event._tag !== "Audio") {
        this.events.push(event)
        return
      }
      const { sequence, timestamp } = event
      if (sequence !== undefined && timestamp !== undefined) this.packets.push({ sequence, timestamp })
      for (let offset = 0; offset < event.payload.length; offset += 160) {
        this.frames++
        this.#law.decode(event.payload, offset, 160, pcm, 0)
        decoder.push(pcm)
      }
    })
  }

  onEvent(handler: (event: CallEvent) => void): void {
    this.#onEvent = handler
  }

  /** Sends the first `frames` frames of a text, or all of them, as the agent. */
  speak(text: string, frames = Number.POSITIVE_INFINITY): void {
    const encoder = new ToneEncoder(text)
    for (let n = 0; n < Math.min(frames, encoder.frames); n++) this.leg.send(lawFrame(this.#law, encoder.next()))
  }
}

/** A simulated network with the engine's side of it and manual time. */
export interface TestNetwork {
  readonly time: ManualTime
  readonly clock: MediaClock
  /** Connects a new phone to the network. */
  readonly phone: () => FakeSocket
  /** The next incoming call. */
  readonly nextCall: Effect.Effect<IncomingCall>
  readonly answer: (call: IncomingCall, callId?: string) => Effect.Effect<AnsweredCall>
  /** Connects a phone that dials and is answered. */
  readonly connect: (
    dial?: Partial<Extract<ClientMessage, { readonly event: "dial" }>>,
    callId?: string
  ) => Effect.Effect<{ readonly phone: FakeSocket; readonly call: AnsweredCall }>
  /** Places an outbound call. */
  readonly dial: (to: string, callId?: string) => Effect.Effect<AnsweredCall, DialFailed>
  /** The response of `GET calls/<call_id>`. */
  readonly get: (callId: string) => Effect.Effect<{ readonly status: number; readonly body: unknown }>
  readonly messaging: Messaging
  /** The response of `GET sms`. */
  readonly sentMessages: Effect.Effect<unknown>
  readonly requests: Context.Tag.Service<CallRequests>
  readonly realism: Context.Tag.Service<CallRealism>
}

const socketRoute = (routes: ReadonlyArray<Route>) => (socket: RouteSocket) => {
  for (const route of routes) if (route._tag === "WebSocket" && route.path === "") route.accept(socket, routeRequest)
}

export const dialling: Extract<ClientMessage, { readonly event: "dial" }> = {
  event: "dial",
  to: "+31207654321",
  from: "+31201234567"
}

export const makeTestNetwork: Effect.Effect<TestNetwork, never, Scope.Scope> = Effect.gen(function* () {
  const time = new ManualTime()
  const context = yield* Layer.build(
    SimulatedTelephony.pipe(
      Layer.provideMerge(
        Layer.mergeAll(CallRealism.layer, CallRequests.layer, CarrierRecords.layerMemory, NetworkClock.layerOn(time))
      )
    )
  )
  const telephony = Context.get(context, Telephony)
  const pull = yield* Stream.toPull(telephony.incoming.pipe(Stream.rechunk(1)))
  const nextCall = pull.pipe(
    Effect.flatMap((chunk) => Effect.fromNullable([...chunk][0])),
    Effect.orDieWith(() => new Error("the network offers no more calls"))
  )
  const accept = socketRoute(telephony.routes)
  const phone = () => {
    const socket = new FakeSocket()
    accept(socket)
    return socket
  }
  const answer = (call: IncomingCall, callId = "call_1") =>
    call.answer({ callId, formats: legFormats }).pipe(
      Effect.map((leg) => new AnsweredCall(leg)),
      Effect.orDie
    )
  return {
    time,
    clock: Context.get(context, NetworkClock),
    phone,
    nextCall,
    answer,
    connect: (dial, callId) =>
      Effect.gen(function* () {
        const socket = phone()
        socket.sends({ ...dialling, ...dial })
        const incoming = yield* nextCall
        incoming.ringing(callId ?? "call_1")
        const call = yield* answer(incoming, callId)
        socket.take()
        return { phone: socket, call }
      }),
    dial: (to, callId = "call_1") =>
      Effect.map(
        telephony.outbound?.dial({ callId, to, from: "+31207654321", formats: [mulaw8k] }) ??
          Effect.dieMessage("the network does not dial"),
        (leg) => new AnsweredCall(leg)
      ),
    get: (callId) => {
      for (const route of telephony.routes) {
        if (route._tag !== "Http" || route.path !== "/calls/:call_id") continue
        return route
          .handle({ ...routeRequest, params: { call_id: callId } })
          .pipe(Effect.map(({ body, status }) => ({ status, body: JSON.parse(String(body)) })))
      }
      return Effect.dieMessage("there is no such route")
    },
    messaging: yield* Effect.orDie(Effect.fromNullable(telephony.sms)),
    sentMessages: Effect.suspend(() => {
      for (const route of telephony.routes) {
        if (route._tag !== "Http" || route.path !== "/sms") continue
        return Effect.map(route.handle(routeRequest), ({ body }): unknown => JSON.parse(String(body)))
      }
      return Effect.dieMessage("there is no such route")
    }),
    requests: Context.get(context, CallRequests),
    realism: Context.get(context, CallRealism)
  }
})

import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
import type { RouteRequest, RouteSocket } from "@svc/providers/Route"
import {
  type CallEvent,
  type CallLeg,
  DialFailed,
  type IncomingCall,
  type Outbound,
  type TransferState
} from "@svc/providers/Telephony"
import { Chunk, Deferred, Effect, Exit, Fiber, Stream, TestClock } from "effect"
import { describe } from "vitest"
import { fencedTelephony } from "../../src/fence/FencedTelephony.ts"
import { telephony } from "../fixtures/Parts.ts"

const boom = (): never => {
  throw new Error("boom\nat x")
}

const leg: CallLeg = {
  format: mulaw8k,
  listen: () => {},
  send: () => {},
  mark: () => {},
  clear: () => {},
  hangup: () => {},
  sendDtmf: () => {}
}

const incoming = (parts: Partial<IncomingCall>): IncomingCall => ({
  id: "1",
  from: null,
  to: "+31201234567",
  headers: {},
  ringing: () => {},
  answer: () => Effect.succeed(leg),
  reject: () => {},
  canceled: Effect.never,
  ...parts
})

/** The one call of a network that brings it. */
const fenced = (parts: Partial<IncomingCall>) =>
  Effect.gen(function* () {
    const network = yield* fencedTelephony({ ...telephony("net"), incoming: Stream.make(incoming(parts)) })
    return Chunk.unsafeHead(yield* Stream.runCollect(network.incoming))
  })

const answer = (call: IncomingCall) => call.answer({ callId: "call_1", formats: [mulaw8k] })

const request: RouteRequest = {
  method: "GET",
  path: "",
  query: new URLSearchParams(),
  headers: {},
  body: new Uint8Array(),
  params: {},
  remoteAddress: "127.0.0.1"
}

describe("a fenced telephone network", () => {
  it.effect("ends its calls and is ill when its stream crashes", () =>
    Effect.gen(function* () {
      const network = yield* fencedTelephony({ ...telephony("net"), incoming: Stream.die(new Error("boom")) })
      expect(yield* network.health).toEqual({ healthy: true })
      expect(Chunk.size(yield* Stream.runCollect(network.incoming))).toBe(0)
      expect(yield* network.health).toEqual({ healthy: false, reason: "takes no more calls: boom" })
    })
  )

  it.effect("turns an answer that throws, dies or hangs into CallGone", () =>
    Effect.gen(function* () {
      for (const crash of [boom, () => Effect.die(new Error("boom"))]) {
        const error = yield* Effect.flip(answer(yield* fenced({ answer: crash })))
        expect(error).toMatchObject({ _tag: "CallGone", reason: "net: crashed: boom" })
      }
      const call = yield* fenced({ answer: () => Effect.never })
      const fiber = yield* Effect.fork(Effect.flip(answer(call)))
      yield* TestClock.adjust("10 seconds")
      expect((yield* Fiber.join(fiber)).reason).toBe("net: did not connect within 10s")
    })
  )

  it.effect("hangs up a call that connects in the moment in which its answer is given up", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      const connected = yield* Deferred.make<CallLeg>()
      const call = yield* fenced({ answer: () => Deferred.await(connected) })
      const fiber = yield* Effect.fork(answer(call))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      Deferred.unsafeDone(connected, Effect.succeed({ ...leg, hangup: (reason) => reasons.push(reason) }))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      expect(reasons).toEqual(["answered too late"])
    })
  )

  it.effect("swallows throws of ringing and reject, and a cancellation that crashes", () =>
    Effect.gen(function* () {
      const call = yield* fenced({ ringing: boom, reject: boom, canceled: Effect.die("boom") })
      call.ringing("call_1")
      call.reject("busy")
      const canceled = yield* Effect.fork(call.canceled)
      yield* TestClock.adjust("1 minute")
      expect(canceled.unsafePoll()).toBeNull()
    })
  )

  it.effect("answers 500 for a route that crashes or hangs, and closes a socket whose handler throws", () =>
    Effect.gen(function* () {
      let closed = 0
      const network = yield* fencedTelephony({
        ...telephony("net"),
        routes: [
          { _tag: "Http", method: "GET", path: "/a", handle: boom },
          { _tag: "Http", method: "GET", path: "/b", handle: () => Effect.never },
          { _tag: "Http", method: "GET", path: "/c", handle: () => Effect.succeed({ status: 204 }) },
          { _tag: "WebSocket", path: "/d", accept: boom }
        ]
      })
      const statuses: Array<number> = []
      for (const route of network.routes) {
        if (route._tag === "WebSocket") {
          const socket: RouteSocket = {
            send: () => {},
            bufferedBytes: () => 0,
            close: () => closed++,
            onMessage: () => {},
            onClose: () => {}
          }
          route.accept(socket, request)
        } else {
          const fiber = yield* Effect.fork(route.handle(request))
          yield* TestClock.adjust("30 seconds")
          statuses.push((yield* Fiber.join(fiber)).status)
        }
      }
      expect(statuses).toEqual([500, 500, 204])
      expect(closed).toBe(1)
    })
  )
})

describe("a fenced dial", () => {
  const call = { callId: "call_1", to: "+31201234567", from: "+31201234568", formats: [mulaw8k] }
  const dial = (dialled: Outbound["dial"]) =>
    Effect.flatMap(fencedTelephony({ ...telephony("net"), outbound: { dial: dialled } }), ({ outbound }) =>
      outbound === undefined ? Effect.dieMessage("lost") : outbound.dial(call)
    )

  it.effect("turns one that throws, dies or hangs into DialFailed, and passes its own failure on", () =>
    Effect.gen(function* () {
      for (const crash of [boom, () => Effect.die(new Error("boom"))]) {
        expect(yield* Effect.flip(dial(crash))).toMatchObject({ outcome: "failed", reason: "net: crashed: boom" })
      }
      const busy = new DialFailed({ outcome: "busy", reason: "talks" })
      expect(yield* Effect.flip(dial(() => Effect.fail(busy)))).toBe(busy)
      const fiber = yield* Effect.fork(Effect.flip(dial(() => Effect.never)))
      yield* TestClock.adjust("150 seconds")
      expect((yield* Fiber.join(fiber)).outcome).toBe("failed")
    })
  )

  it.effect("given up, hangs up a phone that answers in that moment", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      const connected = yield* Deferred.make<CallLeg>()
      const fiber = yield* Effect.fork(dial(() => Deferred.await(connected)))
      yield* Effect.repeatN(Effect.yieldNow(), 100)
      Deferred.unsafeDone(connected, Effect.succeed({ ...leg, hangup: (reason) => reasons.push(reason) }))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
      yield* Effect.repeatN(Effect.yieldNow(), 100)
      expect(reasons).toEqual(["answered too late"])
    })
  )

  it.effect("is not there where the network cannot", () =>
    Effect.map(fencedTelephony(telephony("net")), ({ outbound }) => expect(outbound).toBeUndefined())
  )
})

describe("a fenced leg", () => {
  const listenTo = (given: CallLeg) => {
    const events: Array<CallEvent> = []
    given.listen((event) => events.push(event))
    return events
  }

  it.effect("ends the call once when a method throws, hangs up, and then does nothing more", () =>
    Effect.gen(function* () {
      let hangups = 0
      const broken = yield* answer(
        yield* fenced({ answer: () => Effect.succeed({ ...leg, send: boom, hangup: () => hangups++ }) })
      )
      const events = listenTo(broken)
      broken.send(new Uint8Array(160))
      broken.send(new Uint8Array(160))
      broken.mark("late")
      expect(events).toEqual([{ _tag: "Ended", cause: "failed", reason: "net crashed: boom" }])
      expect(hangups).toBe(1)
    })
  )

  it.effect("tells a listener that comes later that the call broke", () =>
    Effect.gen(function* () {
      const broken = yield* answer(yield* fenced({ answer: () => Effect.succeed({ ...leg, clear: boom }) }))
      broken.clear()
      expect(listenTo(broken).map(({ _tag }) => _tag)).toEqual(["Ended"])
    })
  )

  it.effect("passes one outcome of a transfer that was asked for, and only the end after it came through", () =>
    Effect.gen(function* () {
      let tell: (event: CallEvent) => void = () => {}
      const progress = (state: TransferState) => tell({ _tag: "TransferProgress", state })
      const given = yield* answer(
        yield* fenced({
          answer: () =>
            Effect.succeed({
              ...leg,
              transferBlind: () => progress("ringing"),
              listen: (listener) => {
                tell = listener
              }
            })
        })
      )
      const events = listenTo(given)
      progress("completed")
      given.transferBlind?.("+31201234567")
      progress("busy")
      progress("completed")
      given.transferBlind?.("+31201234567")
      progress("completed")
      progress("failed")
      tell({ _tag: "Dtmf", digit: "1", source: "signaling" })
      tell({ _tag: "Ended", cause: "hangup" })
      const told = events.map((event) => (event._tag === "TransferProgress" ? event.state : event._tag))
      expect(told).toEqual(["ringing", "busy", "ringing", "completed", "Ended"])
    })
  )

  it.effect("whose transfer throws ends the call", () =>
    Effect.gen(function* () {
      const given = yield* answer(yield* fenced({ answer: () => Effect.succeed({ ...leg, transferBlind: boom }) }))
      const events = listenTo(given)
      given.transferBlind?.("+31201234567")
      expect(events).toEqual([{ _tag: "Ended", cause: "failed", reason: "net crashed: boom" }])
    })
  )

  it.effect("passes nothing on after Ended, and keeps what the leg can do", () =>
    Effect.gen(function* () {
      const keys: Array<string> = []
      const talkative: CallLeg = {
        ...leg,
        sendDtmf: (digits) => keys.push(digits),
        listen: (listener) => {
          listener({ _tag: "Dtmf", digit: "1", source: "signaling" })
          listener({ _tag: "Ended", cause: "hangup" })
          listener({ _tag: "Dtmf", digit: "2", source: "signaling" })
        }
      }
      const given = yield* answer(yield* fenced({ answer: () => Effect.succeed(talkative) }))
      given.sendDtmf?.("9")
      expect(given.transferBlind).toBeUndefined()
      expect(listenTo(given).map(({ _tag }) => _tag)).toEqual(["Dtmf", "Ended"])
      expect(keys).toEqual(["9"])
    })
  )
})

describe("fenced messages", () => {
  const sms = { id: "1", to: "+31612345678", from: "+31201234567", sender_type: "number", message: "Hi" } as const
  const fencedSms = (messaging: Partial<Messaging>) =>
    Effect.flatMap(
      fencedTelephony({
        ...telephony("net"),
        sms: { send: () => Effect.never, incoming: Stream.empty, ...messaging }
      }),
      ({ sms }) => Effect.fromNullable(sms)
    )

  it.effect("fail when sending throws, dies or hangs, and pass on what the network says", () =>
    Effect.gen(function* () {
      for (const send of [boom, () => Effect.die(new Error("boom"))]) {
        expect(yield* Effect.flip((yield* fencedSms({ send })).send(sms))).toMatchObject({
          _tag: "SmsFailed",
          reason: "net: crashed: boom"
        })
      }
      const hanging = yield* fencedSms({})
      const fiber = yield* Effect.fork(Effect.flip(hanging.send(sms)))
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ reason: "net: did not take the message within 10s" })
      const refusing = yield* fencedSms({ send: () => Effect.fail(new SmsFailed({ reason: "no credit" })) })
      expect(yield* Effect.flip(refusing.send(sms))).toMatchObject({ reason: "no credit" })
      const taking = yield* fencedSms({ send: () => Effect.succeed({ provider_message_id: "x" }) })
      expect(yield* taking.send(sms)).toEqual({ provider_message_id: "x" })
    })
  )

  it.effect("come no more when their stream crashes, and are absent where there are none", () =>
    Effect.gen(function* () {
      const crashing = yield* fencedSms({ incoming: Stream.die(new Error("boom")) })
      expect(Chunk.size(yield* Stream.runCollect(crashing.incoming))).toBe(0)
      expect("sms" in (yield* fencedTelephony(telephony("net")))).toBe(false)
    })
  )
})

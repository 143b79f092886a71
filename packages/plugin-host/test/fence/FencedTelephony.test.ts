import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
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

/** A call as it comes in from a fenced network. */
const fenced = (parts: Partial<IncomingCall>) =>
  Effect.gen(function* () {
    const network = yield* fencedTelephony({ ...telephony("net"), incoming: Stream.make(incoming(parts)) })
    return Chunk.unsafeHead(yield* Stream.runCollect(network.incoming))
  })

const answer = (call: IncomingCall) => call.answer({ callId: "call_1", formats: [mulaw8k] })

describe("a fenced telephone network", () => {
  it.effect("a crash of incoming ends the stream and makes the network unhealthy", () =>
    Effect.gen(function* () {
      const network = yield* fencedTelephony({ ...telephony("net"), incoming: Stream.die(new Error("boom")) })
      expect(yield* network.health).toEqual({ healthy: true })
      expect(Chunk.size(yield* Stream.runCollect(network.incoming))).toBe(0)
      expect(yield* network.health).toEqual({ healthy: false, reason: "stopped accepting calls: boom" })
    })
  )

  it.effect(
    "an answer that throws, dies or hangs fails with CallGone, as a failure and not as the caller's hang-up",
    () =>
      Effect.gen(function* () {
        for (const crash of [boom, () => Effect.die(new Error("boom"))]) {
          const error = yield* Effect.flip(answer(yield* fenced({ answer: crash })))
          expect(error).toMatchObject({ _tag: "CallGone", reason: "net: crashed: boom", failed: true })
        }
        const call = yield* fenced({ answer: () => Effect.never })
        const fiber = yield* Effect.fork(Effect.flip(answer(call)))
        yield* TestClock.adjust("10 seconds")
        expect(yield* Fiber.join(fiber)).toMatchObject({ reason: "net: did not connect within 10s", failed: true })
      })
  )

  it.effect("a call that connects while its answer is interrupted is hung up", () =>
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

  it.effect("throws of ringing and reject are ignored, and canceled never completes after a crash", () =>
    Effect.gen(function* () {
      const call = yield* fenced({ ringing: boom, reject: boom, canceled: Effect.die("boom") })
      call.ringing("call_1")
      call.reject("busy")
      const canceled = yield* Effect.fork(call.canceled)
      yield* TestClock.adjust("1 minute")
      expect(canceled.unsafePoll()).toBeNull()
    })
  )
})

describe("a fenced dial", () => {
  const call = { callId: "call_1", to: "+31201234567", from: "+31201234568", formats: [mulaw8k] }
  const dial = (dialled: Outbound["dial"]) =>
    Effect.flatMap(fencedTelephony({ ...telephony("net"), outbound: { dial: dialled } }), ({ outbound }) =>
      outbound === undefined ? Effect.dieMessage("lost") : outbound.dial(call)
    )

  it.effect("a dial that throws, dies or hangs fails with DialFailed, and its own DialFailed is kept", () =>
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

  it.effect("a phone that answers while dial is interrupted is hung up", () =>
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

  it.effect("outbound is absent when the plugin has none", () =>
    Effect.map(fencedTelephony(telephony("net")), ({ outbound }) => expect(outbound).toBeUndefined())
  )
})

describe("a fenced leg", () => {
  const listenTo = (given: CallLeg) => {
    const events: Array<CallEvent> = []
    given.listen((event) => events.push(event))
    return events
  }

  it.effect("a method that throws emits Ended once and hangs up, and later calls do nothing", () =>
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

  it.effect("a listener that is installed after a crash receives Ended", () =>
    Effect.gen(function* () {
      const broken = yield* answer(yield* fenced({ answer: () => Effect.succeed({ ...leg, clear: boom }) }))
      broken.clear()
      expect(listenTo(broken).map(({ _tag }) => _tag)).toEqual(["Ended"])
    })
  )

  it.effect("a requested transfer has one outcome, and only Ended follows completed", () =>
    Effect.gen(function* () {
      let emit: (event: CallEvent) => void = () => {}
      const progress = (state: TransferState) => emit({ _tag: "TransferProgress", state })
      const given = yield* answer(
        yield* fenced({
          answer: () =>
            Effect.succeed({
              ...leg,
              transferBlind: () => progress("ringing"),
              listen: (listener) => {
                emit = listener
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
      emit({ _tag: "Dtmf", digit: "1", source: "signaling" })
      emit({ _tag: "Ended", cause: "hangup" })
      const passed = events.map((event) => (event._tag === "TransferProgress" ? event.state : event._tag))
      expect(passed).toEqual(["ringing", "busy", "ringing", "completed", "Ended"])
    })
  )

  it.effect("a transferBlind that throws ends the call", () =>
    Effect.gen(function* () {
      const given = yield* answer(yield* fenced({ answer: () => Effect.succeed({ ...leg, transferBlind: boom }) }))
      const events = listenTo(given)
      given.transferBlind?.("+31201234567")
      expect(events).toEqual([{ _tag: "Ended", cause: "failed", reason: "net crashed: boom" }])
    })
  )

  it.effect("no event follows Ended, and optional methods are kept", () =>
    Effect.gen(function* () {
      const digitsSent: Array<string> = []
      const emitsAfterEnded: CallLeg = {
        ...leg,
        sendDtmf: (digits) => digitsSent.push(digits),
        listen: (listener) => {
          listener({ _tag: "Dtmf", digit: "1", source: "signaling" })
          listener({ _tag: "Ended", cause: "hangup" })
          listener({ _tag: "Dtmf", digit: "2", source: "signaling" })
        }
      }
      const given = yield* answer(yield* fenced({ answer: () => Effect.succeed(emitsAfterEnded) }))
      given.sendDtmf?.("9")
      expect(given.transferBlind).toBeUndefined()
      expect(listenTo(given).map(({ _tag }) => _tag)).toEqual(["Dtmf", "Ended"])
      expect(digitsSent).toEqual(["9"])
    })
  )
})

describe("fenced text messages", () => {
  const sms = { id: "1", to: "+31612345678", from: "+31201234567", sender_type: "number", message: "Hi" } as const
  const fencedSms = (messaging: Partial<Messaging>) =>
    Effect.flatMap(
      fencedTelephony({
        ...telephony("net"),
        sms: { send: () => Effect.never, incoming: Stream.empty, ...messaging }
      }),
      ({ sms }) => Effect.fromNullable(sms)
    )

  it.effect("a send that throws, dies or hangs fails with SmsFailed, and other results are kept", () =>
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
      expect(yield* Fiber.join(fiber)).toMatchObject({ reason: "net: did not accept the message within 10s" })
      const refusing = yield* fencedSms({ send: () => Effect.fail(new SmsFailed({ reason: "no credit" })) })
      expect(yield* Effect.flip(refusing.send(sms))).toMatchObject({ reason: "no credit" })
      const taking = yield* fencedSms({ send: () => Effect.succeed({ provider_message_id: "x" }) })
      expect(yield* taking.send(sms)).toEqual({ provider_message_id: "x" })
    })
  )

  it.effect("a crash of incoming ends the stream, and sms is absent when the plugin has none", () =>
    Effect.gen(function* () {
      const crashing = yield* fencedSms({ incoming: Stream.die(new Error("boom")) })
      expect(Chunk.size(yield* Stream.runCollect(crashing.incoming))).toBe(0)
      expect("sms" in (yield* fencedTelephony(telephony("net")))).toBe(false)
    })
  )
})

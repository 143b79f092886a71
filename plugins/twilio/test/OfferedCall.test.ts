import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { Effect, Fiber, TestClock } from "effect"
import { OfferedCall } from "../src/OfferedCall.ts"

/** A call whose media stream does not come. */
const offered = (): OfferedCall => {
  const request = {
    field: (name: string) => ({ CallSid: "CA1" })[name] ?? "",
    fields: new Map(),
    query: new URLSearchParams()
  }
  return new OfferedCall(request, {
    connect: () => ({ twiml: "<Response/>", forget: () => {} }),
    ask: () => {},
    hangUp: () => {},
    begin: () => {
      throw new Error("no media stream was expected")
    }
  })
}

it.effect("an incoming call of Twilio whose media stream does not open within 9 s has failed", () =>
  Effect.gen(function* () {
    const { incoming } = offered()
    const answer = yield* Effect.fork(Effect.flip(incoming.answer({ callId: "call_1", formats: [mulaw8k] })))
    yield* TestClock.adjust("9 seconds")
    expect(yield* Fiber.join(answer)).toMatchObject({ failed: true, reason: expect.stringContaining("its console") })
  })
)

it.effect("an incoming call of Twilio whose caller hangs up before its media stream is gone without a failure", () =>
  Effect.gen(function* () {
    const call = offered()
    const answer = yield* Effect.fork(Effect.flip(call.incoming.answer({ callId: "call_1", formats: [mulaw8k] })))
    yield* TestClock.adjust(0)
    call.ended("completed")
    const gone = yield* Fiber.join(answer)
    expect([gone.reason, gone.failed]).toEqual(["the caller hung up", undefined])
  })
)

it.effect("an incoming call of Twilio fails when its media stream could not be opened, also if completed follows", () =>
  Effect.gen(function* () {
    const call = offered()
    const answer = yield* Effect.fork(Effect.flip(call.incoming.answer({ callId: "call_1", formats: [mulaw8k] })))
    yield* TestClock.adjust(0)
    call.streamFailed()
    call.ended("completed")
    expect(yield* Fiber.join(answer)).toMatchObject({ failed: true, reason: expect.stringContaining("its console") })
  })
)

it.effect("an incoming call of Twilio fails when its status is failed before its media stream is there", () =>
  Effect.gen(function* () {
    const call = offered()
    const answer = yield* Effect.fork(Effect.flip(call.incoming.answer({ callId: "call_1", formats: [mulaw8k] })))
    yield* TestClock.adjust(0)
    call.ended("failed")
    expect(yield* Fiber.join(answer)).toMatchObject({ failed: true, reason: expect.stringContaining("as failed") })
  })
)

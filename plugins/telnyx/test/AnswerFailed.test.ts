import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Effect, Fiber, TestClock } from "effect"
import * as IncomingCalls from "../src/IncomingCalls.ts"
import { testNetwork } from "./TestNetwork.ts"

/** Answers a call whose media connection does not come; `failure`: how the command `answer` fails. */
const answering = (failure?: Pick<CarrierRequestFailed, "outcome" | "status" | "code">) =>
  Effect.gen(function* () {
    const made = yield* testNetwork
    made.failureOf = (action) =>
      action === "answer" && failure !== undefined
        ? new CarrierRequestFailed({ reason: "out of order", ...failure })
        : undefined
    const calls: Array<IncomingCall> = []
    const payload = { call_control_id: "v3:1", from: "+12025550100", to: "+12025550199" }
    IncomingCalls.take(
      made.network,
      () => Effect.succeed(true),
      payload,
      (call) => void calls.push(call)
    )
    const [call] = calls
    if (call === undefined) return yield* Effect.dieMessage("no call was offered")
    const answer = yield* Effect.fork(Effect.flip(call.answer({ callId: "call_1", formats: [mulaw8k] })))
    yield* TestClock.adjust("9 seconds")
    return yield* Fiber.join(answer)
  })

it.scoped("an incoming call of Telnyx without a media connection, or that could not be answered, has failed", () =>
  Effect.gen(function* () {
    expect(yield* answering()).toMatchObject({ failed: true, reason: expect.stringContaining("SVC_BASE_URL") })
    const failed = { failed: true, reason: expect.stringContaining("out of order") }
    expect(yield* answering({ outcome: "unknown" })).toMatchObject(failed)
    // Such as an address of the media connection that Telnyx does not accept.
    expect(yield* answering({ outcome: "refused", status: 422, code: "10015" })).toMatchObject(failed)
  })
)

it.scoped("an incoming call that Telnyx refuses to answer because it is over is no failure: the caller hung up", () =>
  Effect.gen(function* () {
    for (const refusal of [{ status: 422, code: "90018" }, { status: 404 }]) {
      const { failed, reason } = yield* answering({ outcome: "refused", ...refusal })
      expect([failed, reason]).toEqual([undefined, "the caller hung up"])
    }
  })
)

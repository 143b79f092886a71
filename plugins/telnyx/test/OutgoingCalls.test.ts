import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import { makeFailures } from "@svc/providers/RequestFailed"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, Fiber, TestClock } from "effect"
import * as OutgoingCalls from "../src/OutgoingCalls.ts"
import type { TelnyxApi } from "../src/TelnyxApi.ts"
import { connect, testNetwork } from "./TestNetwork.ts"

const failed = (outcome: CarrierRequestFailed["outcome"], status?: number) =>
  new CarrierRequestFailed({ reason: "out of order", outcome, ...(status === undefined ? {} : { status }) })

/** Dials where `POST /calls` fails. */
const dialling = (failure: CarrierRequestFailed) =>
  Effect.gen(function* () {
    const made = yield* testNetwork
    const { host } = yield* makeHostDouble()
    const bodies: Array<Readonly<Record<string, unknown>>> = []
    const api: TelnyxApi = {
      request: ({ json }) =>
        Effect.suspend(() => {
          bodies.push(Object(json))
          return failure
        }),
      failures: makeFailures({ server: "telnyx", key: undefined, keySetting: "none", log: host.log }),
      health: Effect.succeed({ healthy: true })
    }
    const { dial } = OutgoingCalls.make({
      network: made.network,
      api,
      detection: "disabled",
      connectionOf: () => Effect.succeed("app-1"),
      isAlive: () => Effect.succeed(true)
    })
    const order = { callId: "call_out", to: "+12025557001", from: "+12025550199", formats: [mulaw8k] }
    const fiber = yield* Effect.fork(Effect.flip(dial(order)))
    yield* TestClock.adjust(0)
    return { made, bodies, fiber }
  })

it.scoped("a dial that fails before Telnyx has given the call an id keeps neither the call nor its media token", () =>
  Effect.gen(function* () {
    const { bodies, fiber, made } = yield* dialling(failed("refused", 422))
    expect((yield* Fiber.join(fiber)).reason).toContain("out of order")
    expect(made.network.live.size).toBe(0)
    expect(connect(made, String(bodies[0]?.["stream_url"])).closed()).toBe(1008)
    yield* TestClock.adjust("2 minutes")
    expect(made.network.listeners.byState.size).toBe(0)
  })
)

it.scoped("a dial that met 5xx is given up after 5 s, and one without an answer after 10 s", () =>
  Effect.gen(function* () {
    const answered = yield* dialling(failed("unknown", 503))
    const lost = yield* dialling(failed("unknown"))
    yield* TestClock.adjust("4 seconds")
    expect(answered.fiber.unsafePoll()).toBe(null)
    yield* TestClock.adjust("1 seconds")
    expect((yield* Fiber.join(answered.fiber)).outcome).toBe("failed")
    yield* TestClock.adjust("4 seconds")
    expect(lost.fiber.unsafePoll()).toBe(null)
    yield* TestClock.adjust("1 seconds")
    expect((yield* Fiber.join(lost.fiber)).outcome).toBe("failed")
  })
)

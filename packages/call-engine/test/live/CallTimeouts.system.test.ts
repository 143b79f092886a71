import { describe, expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Clock, Effect, Layer } from "effect"
import { fastClock } from "../../src/testing/FastClock.ts"
import { agentOnNumber, configuration, dial, Engine, Services, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

/** An engine on a clock that runs three times as fast: it waits 10 s for its model and 15 s for its farewell. */
const FastEngine = Layer.provideMerge(Engine, Services).pipe(
  Layer.provide(Layer.setClock(fastClock(3))),
  Layer.provideMerge(TestDatabase.layer)
)

const onRealTime = Effect.withClock(Clock.make())

describe.concurrent("on one engine", () => {
  layer(FastEngine, { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
    it.scoped("whose model hangs gets an apology, and ends with its farewell when the model hangs again", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() =>
          configuration({ fail: "hang" }, { first_message: null, end_session_message: "Bye." })
        )
        const caller = yield* dial(number)
        yield* caller.until("answered")
        caller.send({ event: "say", text: "Hi" })
        yield* caller.next((m) => m.event === "heard" && m.text.startsWith("I'm so"))
        caller.send({ event: "say", text: "What" })
        yield* caller.hears(/^Bye\.$/)
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "error" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("failed failed error")
        expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended", "call.failed"])
        expect(call.transcript[1]).toMatch(/^assistant: I'm so/)
        expect(call.transcript.slice(2)).toEqual(["user: What", "assistant: Bye."])
      }).pipe(onRealTime)
    )

    it.scoped("is hung up when its farewell takes too long, and its transcript has what was played", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() =>
          configuration(
            {},
            {
              first_message: null,
              inactivity_timeout: 1,
              end_session_message:
                "And so it goes on and on and on and on and on and on and on and on and on and on and on and on."
            }
          )
        )
        const caller = yield* dial(number)
        expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "silence-timeout" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered silence-timeout")
        expect(call.transcript.length).toBe(1)
        expect(call.transcript[0]).toMatch(/^assistant: And so/)
        expect(call.transcript[0]).not.toMatch(/on\.$/)
      }).pipe(onRealTime)
    )

    it.scoped("fails after five seconds when the agent's server does not answer call.started", () =>
      Effect.gen(function* () {
        const { number, server } = yield* agentOnNumber(() => undefined)
        const caller = yield* dial(number)
        yield* caller.until("hangup")
        expect((yield* Record.settled(number)).outcome).toBe("failed failed error")
        yield* until(Effect.sync(server.connections), (n) => n === 0)
      }).pipe(onRealTime)
    )
  })
})
